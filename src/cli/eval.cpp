// tessera eval: a model's loss on data, as the trainer takes it.
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "data/documents.h"
#include "inference/translation_score.h"
#include "models/adapters.h"
#include "tokenizers/utf8.h"
#include "training/recipe_keys.h"
#include "training/session.h"
#include "training/starting_model.h"
#include "training/token_corpus.h"

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
                                characters += tokenizers::character_count(text);
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

training::Recipe recipe_of(const std::string& model, const std::vector<std::string>& arguments) {
    Json data = Json::array();
    std::vector<std::string> overrides;
    for (const std::string& argument : arguments)
        if (argument.find('=') == argument.npos || fs::exists(argument))
            data.push_back(argument);
        else
            overrides.push_back(argument);
    check(!data.items().empty(), "eval: DATA is missing: files or folders");
    Json recipe = Json::object();
    recipe.set("model", model).set("data", Json::object().set("train", std::move(data)));
    return training::read_recipe(training::resolve_recipe(std::move(recipe), overrides, "eval"));
}

// BLEU of the model's own translations of the pairs.
data::Bleu bleu_of(const std::string& folder, const training::Recipe& recipe, Device device, std::int64_t beams,
                   std::int64_t most_pairs) {
    const inference::TextModel model =
        inference::open_text_model(folder, recipe.tokenizer, device, inference::NeedsTokenizer::yes);
    inference::GenerationSettings settings = model.settings;
    settings.sampler.do_sample = false;
    settings.beams.count = beams;
    inference::TranslationScoreOptions options{.most_pairs = most_pairs};
    std::unique_ptr<Progress> progress;
    options.on_progress = [&](std::int64_t done, std::int64_t total) {
        if (!progress) progress = std::make_unique<Progress>("translating", static_cast<double>(total), "texts");
        progress->set(static_cast<double>(done));
    };
    const data::TextPairs pairs(data::files_ending(recipe.train_data, {".tsv", ".txt"}));
    return inference::translation_score(model, settings, pairs, options);
}

}  // namespace

int eval_command(const std::vector<std::string>& arguments) {
    std::string folder, device_name = "cpu";
    std::vector<std::string> data;
    std::int64_t batches = 0, beams = 1;
    bool json = false;
    Arguments parser("eval",
                     "A model's loss on data, as training takes it; for texts also perplexity and bits per byte, for "
                     "sentence pairs BLEU.",
                     "tessera eval DIR held-out.txt data.length=256");
    parser.positional("DIR", folder, "a folder of the Hub's layout or of adapters, or a checkpoint file");
    parser.positionals("DATA", data, "files or folders, and key=value settings (tessera train --keys lists them)");
    parser.option("--batches", batches, "stop after so many; 0: all of the data");
    parser.option("--beams", beams, "of the translations that BLEU is taken of, for sentence pairs");
    parser.device(device_name);
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    check(batches >= 0, "--batches: expected 0 or more, found ", batches);
    check(beams >= 1 && beams <= inference::most_beams, "--beams: expected 1 to ", inference::most_beams, ", found ",
          beams);
    check(fs::exists(folder), folder, ": no such file or folder");
    const bool is_adapter = models::is_adapter_folder(folder);
    // Adapters of a file of weights have their tokenizer beside them.
    if (is_adapter && fs::exists(fs::path(folder) / "tokenizer.json"))
        data.insert(data.begin(), text_of("tokenizer=", folder));
    const training::Recipe recipe = recipe_of(is_adapter ? models::base_of_adapters(folder).string() : folder, data);
    const Device device = device_named(device_name);
    const training::StartingModel start = training::starting_model(recipe, std::nullopt, device);
    if (is_adapter) models::apply_adapters(*start.model, folder);
    const Scratch scratch;
    training::ObjectiveInputs inputs{
        .recipe = recipe, .model = *start.model, .tokenizer = start.tokenizer, .data = recipe.train_data};
    inputs.cache = scratch.path;
    const std::unique_ptr<training::Objective> objective = training::make_objective(inputs);
    const training::Evaluation result = training::evaluate(
        *start.model, *objective, recipe, device, batches > 0 ? batches : std::numeric_limits<std::int64_t>::max());
    const bool is_text = recipe.objective == "causal";
    const Bits bits = is_text ? bits_of(result.loss, inputs) : Bits();
    std::optional<data::Bleu> bleu;
    if (recipe.objective == "pairs")
        bleu = bleu_of(folder, recipe, device, beams,
                       batches > 0 ? batches * recipe.batch : std::numeric_limits<std::int64_t>::max());
    if (json) {
        Json out = Json::object().set("loss", result.loss).set("targets", result.targets);
        if (is_text)
            out.set("perplexity", std::exp(result.loss))
                .set("bits_per_byte", bits.per_byte)
                .set("bits_per_character", bits.per_character);
        if (bleu) out.set("bleu", bleu->score()).set("brevity_penalty", bleu->brevity_penalty());
        std::printf("%s\n", out.dump().c_str());
    } else if (is_text) {
        std::printf("loss %.4f, perplexity %.4f, %.4f bits per byte, %.4f bits per character over %s tokens\n",
                    result.loss, std::exp(result.loss), bits.per_byte, bits.per_character,
                    with_separators(result.targets).c_str());
    } else {
        std::printf("loss %.4f over %s targets\n", result.loss, with_separators(result.targets).c_str());
    }
    if (bleu && !json)
        std::printf("BLEU %.2f (brevity penalty %.3f, %lld beams)\n", bleu->score(), bleu->brevity_penalty(),
                    static_cast<long long>(beams));
    return 0;
}

}  // namespace tessera::cli
