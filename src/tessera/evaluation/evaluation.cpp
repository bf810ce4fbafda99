#include "tessera/evaluation/evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/data/documents.h"
#include "tessera/evaluation/translation_score.h"
#include "tessera/inference/generator.h"
#include "tessera/models/class_names.h"
#include "tessera/text/utf8.h"
#include "tessera/training/objectives/registration.h"
#include "tessera/training/token_corpus.h"

namespace tessera::evaluation {
namespace {

constexpr std::int64_t least_window = 2;  // in which something is predicted

TextBits bits_of(double loss, const training::ObjectiveInputs& inputs) {
    std::int64_t bytes = 0, characters = 0;
    data::for_each_document(data::text_files(inputs.data),
                            {.field = inputs.recipe.field, .separator = inputs.recipe.separator},
                            [&](std::string_view text) {
                                bytes += static_cast<std::int64_t>(text.size());
                                characters += text::character_count(text);
                            });
    const double bits = loss / std::log(2.0) * static_cast<double>(training::tokenised(inputs).tokens().size());
    return {bits / static_cast<double>(bytes), bits / static_cast<double>(characters)};
}

// Classes of the data that the model has no name for would be counted as others.
void check_classes(const training::Objective& objective, const models::Model& model) {
    if (!model.config.has("id2label")) return;  // its classes have numbers alone
    const std::vector<std::string>& names = model.class_names;
    for (const std::string& name : objective.classes())
        check(models::is_class_number(name) || std::find(names.begin(), names.end(), name) != names.end(),
              "the data has a class '", name, "', which the model does not know");
}

std::function<void(std::int64_t done, std::int64_t total)> progress_of(const EvalOptions& options, const char* what) {
    if (!options.on_progress) return {};
    return [&options, what](std::int64_t done, std::int64_t total) { options.on_progress(what, done, total); };
}

Bleu bleu_of(const training::Recipe& recipe, const EvalOptions& options, std::int64_t most_pairs) {
    const models::OpenedModel model = models::open_model(
        options.model,
        {.tokenizer = recipe.tokenizer, .device = options.device, .needs_tokenizer = models::NeedsTokenizer::Yes});
    models::GenerationSettings settings = inference::settings_of(model);
    settings.sampler.do_sample = false;
    settings.beams.count = options.beams;
    const data::TextPairs pairs(data::files_ending(recipe.train_data, {".tsv", ".txt"}));
    return translation_score(model, settings, pairs,
                             {.most_pairs = most_pairs, .on_progress = progress_of(options, "translating")});
}

}  // namespace

double Report::perplexity() const { return std::exp(result.loss); }

Report evaluate(const training::ObjectiveInputs& given, const EvalOptions& options) {
    training::Recipe recipe = given.recipe;
    const training::ObjectiveInputs inputs{.recipe = recipe,
                                           .model = given.model,
                                           .tokenizer = given.tokenizer,
                                           .data = given.data,
                                           .cache = given.cache,
                                           .on_progress = given.on_progress};
    const training::ObjectiveTraits& traits = training::objective_of(recipe);
    if (traits.packs_windows && given.model.can(traits.needs)) {
        const auto tokens = static_cast<std::int64_t>(training::tokens_of(inputs).tokens().size());
        if (tokens >= least_window) recipe.length = std::min(recipe.length, tokens);
    }
    const std::unique_ptr<training::Objective> objective = training::make_objective(inputs);
    check_classes(*objective, inputs.model);
    const std::int64_t all = std::numeric_limits<std::int64_t>::max();
    const std::int64_t examples = options.most_batches > 0 ? options.most_batches * recipe.batch : all;
    Report report{.result = training::evaluate(inputs.model, *objective, recipe,
                                               {.device = options.device,
                                                .most_examples = std::min(examples, recipe.limit),
                                                .on_progress = progress_of(options, "evaluating")}),
                  .window = traits.packs_windows ? recipe.length : 0};
    if (traits.has(training::Metric::Perplexity)) report.bits = bits_of(report.result.loss, inputs);
    if (traits.has(training::Metric::Retrieval))
        report.choices = choices_of(retrieve(
            inputs.model, *objective, recipe,
            {.device = options.device, .most_examples = examples, .on_progress = progress_of(options, "retrieving")}));
    if (traits.has(training::Metric::Bleu)) report.bleu = bleu_of(recipe, options, examples);
    return report;
}

}  // namespace tessera::evaluation
