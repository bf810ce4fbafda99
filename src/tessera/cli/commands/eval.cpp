// tessera eval: a model's loss on data, as the trainer takes it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/data/documents.h"
#include "tessera/evaluation/retrieval.h"
#include "tessera/evaluation/translation_score.h"
#include "tessera/models/catalog.h"
#include "tessera/models/class_names.h"
#include "tessera/text/utf8.h"
#include "tessera/training/objectives/default_objective.h"
#include "tessera/training/recipe/recipe_keys.h"
#include "tessera/training/run/initial_model.h"
#include "tessera/training/run/session.h"
#include "tessera/training/token_corpus.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;
using formats::Json;

// What a mean loss of tokens is in bits for each byte and each character of the texts.
struct Bits {
    double per_byte = 0, per_character = 0;
};

Bits bits_of(double loss, const training::ObjectiveInputs& inputs) {
    const formats::Config settings = inputs.recipe.resolved.section("data");
    std::int64_t bytes = 0, characters = 0;
    data::for_each_document(data::text_files(inputs.data),
                            {.field = settings.text("field"), .separator = settings.text("separator")},
                            [&](std::string_view text) {
                                bytes += static_cast<std::int64_t>(text.size());
                                characters += text::character_count(text);
                            });
    const double bits = loss / std::log(2.0) * static_cast<double>(training::tokenised(inputs).tokens().size());
    return {bits / static_cast<double>(bytes), bits / static_cast<double>(characters)};
}

// A folder for tokens, gone when the command ends.
class Scratch {
   public:
    Scratch() {
        std::string pattern = (fs::temp_directory_path() / "tessera_eval_XXXXXX").string();
        check(mkdtemp(pattern.data()) != nullptr, pattern, ": cannot be made");
        path = pattern;
    }
    ~Scratch() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    fs::path path;
};

// What a run was trained with and an evaluation should be taken with, where the folder is one of a run.
void take_settings_of_run(const fs::path& folder, Json& recipe, Json& data) {
    if (!fs::is_regular_file(folder / "recipe.json")) return;
    const Json run = Json::read(folder / "recipe.json");
    for (const char* name : {"objective", "batch"})
        if (const Json* value = run.find(name)) recipe.set(name, *value);
    const Json* section = run.find("data");
    if (section == nullptr || !section->is_object()) return;
    for (const char* name : {"length", "separator", "field", "mask", "whole_words", "noise", "span", "permute"})
        if (const Json* value = section->find(name)) data.set(name, *value);
}

training::Recipe recipe_of(const std::string& folder, const std::vector<std::string>& arguments) {
    Json files = Json::array(), data = Json::object(), recipe = Json::object();
    std::vector<std::string> overrides;
    for (const std::string& argument : arguments)
        if (argument.find('=') == argument.npos || fs::exists(argument))
            files.push_back(argument);
        else
            overrides.push_back(argument);
    check(!files.items().empty(), "eval: DATA is missing: files or folders");
    const std::unique_ptr<models::Model> shapes = models::build(models::config_named(folder));
    recipe.set("objective", training::default_objective(*shapes));
    // Texts with a label are read as far as the model can; others in windows. A run may have gone past the context.
    const std::int64_t context = shapes->context_length(), window = 128;
    const bool whole = recipe.find("objective")->as_string() == "labels" && context > 0;
    if (context > 0) data.set("length", whole ? context : std::min(context, window));
    take_settings_of_run(folder, recipe, data);
    const Json* length = data.find("length");
    if (context > 0 && length != nullptr && length->is_integer() && length->as_integer() > context)
        data.set("length", context);
    recipe.set("model", folder).set("data", data.set("train", std::move(files)));
    return training::read_recipe(training::resolve_recipe(std::move(recipe), overrides, "eval"));
}

void print_choices(const std::vector<evaluation::Choice>& choices) {
    for (const evaluation::Choice& choice : choices)
        std::printf("an image's own text among %s: found for %.2f %% (by chance %.2f %%)\n",
                    with_separators(choice.candidates).c_str(), 100 * choice.accuracy, 100 * choice.chance);
}

Json to_json(const std::vector<evaluation::Choice>& choices) {
    Json list = Json::array();
    for (const evaluation::Choice& choice : choices)
        list.push_back(Json::object()
                           .set("candidates", choice.candidates)
                           .set("accuracy", choice.accuracy)
                           .set("chance", choice.chance));
    return list;
}

// Classes of the data that the model has no name for would be counted as others.
void check_classes(const training::Objective& objective, const models::Config& config) {
    if (!config.has("id2label")) return;
    const auto names = models::read_class_names(config, models::read_class_count(config));
    for (const std::string& name : objective.classes()) {
        check(models::is_class_number(name) || std::find(names.begin(), names.end(), name) != names.end(),
              "the data has a class '", name, "', which the model does not know");
    }
}

// BLEU of the model's own translations of the pairs.
evaluation::Bleu bleu_of(const std::string& folder, const training::Recipe& recipe, Device device, std::int64_t beams,
                         std::int64_t most_pairs) {
    const inference::TextModel model =
        inference::open_text_model(folder, recipe.tokenizer, device, inference::NeedsTokenizer::Yes);
    inference::GenerationSettings settings = model.settings;
    settings.sampler.do_sample = false;
    settings.beams.count = beams;
    evaluation::TranslationScoreOptions options{.most_pairs = most_pairs};
    std::unique_ptr<Progress> progress;
    options.on_progress = [&](std::int64_t done, std::int64_t total) {
        if (!progress) progress = std::make_unique<Progress>("translating", static_cast<double>(total), "texts");
        progress->set(static_cast<double>(done));
    };
    const data::TextPairs pairs(data::files_ending(recipe.train_data, {".tsv", ".txt"}));
    return evaluation::translation_score(model, settings, pairs, options);
}

// What is told of a model: which of these there are depends on what it was trained for.
struct Figures {
    training::Evaluation result = {};
    std::vector<evaluation::Choice> choices = {};
    std::optional<Bits> bits = {};
    std::optional<evaluation::Bleu> bleu = {};
};

struct Wanted {
    std::string folder = {};
    Device device = cpu;
    std::int64_t batches = 0, beams = 1;  // batches: 0 for all
};

Figures figures_of(const Wanted& wanted, const training::Recipe& recipe, const training::ObjectiveInputs& inputs) {
    const std::unique_ptr<training::Objective> objective = training::make_objective(inputs);
    check_classes(*objective, inputs.model.config);
    const std::int64_t all = std::numeric_limits<std::int64_t>::max();
    const std::int64_t examples = wanted.batches > 0 ? wanted.batches * recipe.batch : all;
    Figures figures{.result = training::evaluate(inputs.model, *objective, recipe, wanted.device,
                                                 std::min(examples, recipe.limit))};
    if (recipe.objective == "contrastive")
        figures.choices = evaluation::choices_of(evaluation::retrieve(inputs.model, *objective, recipe, wanted.device,
                                                                      wanted.batches > 0 ? wanted.batches : all));
    if (recipe.objective == "causal") figures.bits = bits_of(figures.result.loss, inputs);
    if (recipe.objective == "pairs")
        figures.bleu = bleu_of(wanted.folder, recipe, wanted.device, wanted.beams, examples);
    return figures;
}

Json to_json(const Figures& figures) {
    const training::Evaluation& result = figures.result;
    Json out = Json::object().set("loss", result.loss).set("targets", result.targets);
    if (result.answers.total > 0)
        out.set("accuracy", result.answers.share())
            .set("error_rate", 1 - result.answers.share())
            .set("right", result.answers.correct)
            .set("answers", result.answers.total);
    if (figures.bits)
        out.set("perplexity", std::exp(result.loss))
            .set("bits_per_byte", figures.bits->per_byte)
            .set("bits_per_character", figures.bits->per_character);
    if (!figures.choices.empty()) out.set("zero_shot", to_json(figures.choices));
    if (figures.bleu) out.set("bleu", figures.bleu->score()).set("brevity_penalty", figures.bleu->brevity_penalty());
    return out;
}

void print(const Figures& figures, std::int64_t beams) {
    const training::Evaluation& result = figures.result;
    const std::string targets = with_separators(result.targets);
    if (result.answers.total > 0)
        std::printf("accuracy %.2f %%, error rate %.2f %% (%s of %s right), ", 100 * result.answers.share(),
                    100 - 100 * result.answers.share(), with_separators(result.answers.correct).c_str(),
                    with_separators(result.answers.total).c_str());
    if (figures.bits)
        std::printf("loss %.4f, perplexity %.4f, %.4f bits per byte, %.4f bits per character over %s tokens\n",
                    result.loss, std::exp(result.loss), figures.bits->per_byte, figures.bits->per_character,
                    targets.c_str());
    else
        std::printf("loss %.4f over %s targets\n", result.loss, targets.c_str());
    print_choices(figures.choices);
    if (figures.bleu)
        std::printf("BLEU %.2f (brevity penalty %.3f, %lld beams)\n", figures.bleu->score(),
                    figures.bleu->brevity_penalty(), static_cast<long long>(beams));
}

}  // namespace

int eval_command(const std::vector<std::string>& arguments) {
    Wanted wanted;
    std::string device_name = "cpu";
    std::vector<std::string> data;
    bool json = false;
    Arguments parser("eval",
                     "A model's loss on data, as training takes it; for texts also perplexity and bits per byte, for "
                     "classifiers the accuracy, for images with texts how often the right text is found, for "
                     "sentence pairs BLEU.",
                     "tessera eval DIR held-out.txt data.length=256");
    parser.model("DIR", wanted.folder, "a folder of the Hub's layout or of adapters, or a checkpoint file");
    parser.positionals("DATA", data, "files or folders, and key=value settings (tessera train --keys lists them)");
    parser.option("--batches", wanted.batches, "stop after so many; 0: all of the data");
    parser.option("--beams", wanted.beams, "of the translations that BLEU is taken of, for sentence pairs");
    parser.device(device_name);
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    const std::string& folder = wanted.folder;
    check(wanted.batches >= 0 && wanted.batches < (std::int64_t{1} << 31), "--batches: expected 0 or more, found ",
          wanted.batches);
    check(wanted.beams >= 1 && wanted.beams <= inference::most_beams, "--beams: expected 1 to ", inference::most_beams,
          ", found ", wanted.beams);
    check(fs::exists(folder), folder, ": no such file or folder");
    const training::Recipe recipe = recipe_of(folder, data);
    wanted.device = parse_device(device_name);
    const models::OpenedModel start = training::initial_model(recipe, {.device = wanted.device});
    const Scratch scratch;
    training::ObjectiveInputs inputs{
        .recipe = recipe, .model = *start.model, .tokenizer = start.tokenizer, .data = recipe.train_data};
    inputs.cache = scratch.path;
    const Figures figures = figures_of(wanted, recipe, inputs);
    if (json)
        std::printf("%s\n", to_json(figures).dump().c_str());
    else
        print(figures, wanted.beams);
    return 0;
}

}  // namespace tessera::cli
