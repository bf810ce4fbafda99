// tessera eval: a model's loss on data, as the trainer takes it.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/evaluation/evaluation.h"
#include "tessera/training/objectives/registration.h"
#include "tessera/training/run/initial_model.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;
using formats::Json;

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

// What has a = in it and is no file is a setting.
training::Recipe recipe_of(const std::string& folder, const std::vector<std::string>& arguments) {
    std::vector<std::string> files, overrides;
    for (const std::string& argument : arguments)
        (argument.find('=') == argument.npos || fs::exists(argument) ? files : overrides).push_back(argument);
    check(!files.empty(), "eval: DATA is missing: files or folders");
    return evaluation::eval_recipe(folder, files, overrides);
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

Json to_json(const evaluation::Report& report) {
    const training::Evaluation& result = report.result;
    Json out = Json::object().set("loss", result.loss).set("targets", result.targets);
    if (result.answers.total > 0)
        out.set("accuracy", result.answers.share())
            .set("error_rate", 1 - result.answers.share())
            .set("right", result.answers.correct)
            .set("answers", result.answers.total);
    if (report.bits)
        out.set("perplexity", report.perplexity())
            .set("bits_per_byte", report.bits->per_byte)
            .set("bits_per_character", report.bits->per_character);
    if (report.window > 0) out.set("window", report.window);
    if (!report.choices.empty()) out.set("zero_shot", to_json(report.choices));
    if (report.bleu) out.set("bleu", report.bleu->score()).set("brevity_penalty", report.bleu->brevity_penalty());
    return out;
}

void print(const evaluation::Report& report, std::int64_t beams) {
    const training::Evaluation& result = report.result;
    const std::string targets = with_separators(result.targets);
    const std::string windows = report.window > 0 ? fmt::format(" in windows of {} tokens", report.window) : "";
    if (result.answers.total > 0)
        std::printf("accuracy %.2f %%, error rate %.2f %% (%s of %s right), ", 100 * result.answers.share(),
                    100 - 100 * result.answers.share(), with_separators(result.answers.correct).c_str(),
                    with_separators(result.answers.total).c_str());
    if (report.bits)
        fmt::print("loss {:.4f}, perplexity {:.4f}, {:.4f} bits per byte, {:.4f} bits per character over {} tokens{}\n",
                   result.loss, report.perplexity(), report.bits->per_byte, report.bits->per_character, targets,
                   windows);
    else
        fmt::print("loss {:.4f} over {} targets{}\n", result.loss, targets, windows);
    print_choices(report.choices);
    if (report.bleu)
        std::printf("BLEU %.2f (brevity penalty %.3f, %lld beams)\n", report.bleu->score(),
                    report.bleu->brevity_penalty(), static_cast<long long>(beams));
}

}  // namespace

int eval_command(const std::vector<std::string>& arguments) {
    std::string folder, device_name = "cpu";
    evaluation::EvalOptions options;
    std::vector<std::string> data;
    bool json = false;
    Arguments parser(
        "eval",
        "A model's loss on data, as training takes it; for texts also perplexity and bits per byte, for "
        "classifiers the accuracy, for images with texts how often the right text is found, for "
        "sentence pairs BLEU. Texts are read in windows end to end, as long as the model's context and at most 1024 "
        "(data.length); `tessera score` reads one text in windows that overlap, so that every token has a "
        "context.",
        "tessera eval DIR held-out.txt data.length=256");
    parser.model("DIR", folder, "a folder of the Hub's layout or of adapters, or a checkpoint file");
    parser.positionals("DATA", data, "files or folders, and key=value settings (tessera train --keys lists them)");
    parser.option("--batches", options.most_batches, "stop after so many; 0: all of the data");
    parser.option("--beams", options.beams, "of the translations that BLEU is taken of, for sentence pairs");
    parser.device(device_name);
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    check(options.most_batches >= 0 && options.most_batches < (std::int64_t{1} << 31),
          "--batches: expected 0 or more, found ", options.most_batches);
    check(options.beams >= 1 && options.beams <= models::most_beams, "--beams: expected 1 to ", models::most_beams,
          ", found ", options.beams);
    check(fs::exists(folder), folder, ": no such file or folder");
    const training::Recipe recipe = recipe_of(folder, data);
    options.model = folder;
    options.device = parse_device(device_name);
    const models::OpenedModel start = training::initial_model(recipe, {.device = options.device});
    const Scratch scratch;
    training::ObjectiveInputs inputs{
        .recipe = recipe, .model = *start.model, .tokenizer = start.tokenizer, .data = recipe.train_data};
    inputs.cache = scratch.path;
    std::unique_ptr<Progress> progress;
    std::string shown;  // what the bar is about
    const auto show = [&](const std::string& what, double done, double total, const char* unit) {
        if (what != shown) progress.reset();
        if (!progress) progress = std::make_unique<Progress>(what, total, unit);
        shown = what;
        progress->set(done);
    };
    const char* unit = training::objective_of(recipe).packs_windows ? "B" : "images";
    inputs.on_progress = [&](double done, double total) { show("reading", done, total, unit); };
    options.on_progress = [&](const char* what, std::int64_t done, std::int64_t total) {
        show(what, static_cast<double>(done), static_cast<double>(total), "examples");
    };
    const evaluation::Report report = evaluation::evaluate(inputs, options);
    progress.reset();
    if (json)
        std::printf("%s\n", to_json(report).dump().c_str());
    else
        print(report, options.beams);
    return 0;
}

}  // namespace tessera::cli
