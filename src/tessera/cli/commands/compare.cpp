// tessera compare: several recipes trained one after another, and one table of what came out.
#include <cstdio>
#include <set>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/commands/comparison_table.h"
#include "tessera/cli/commands/next_command.h"
#include "tessera/cli/commands/training_display.h"
#include "tessera/cli/commands/training_outcome.h"
#include "tessera/cli/terminal/output.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/core/interruption.h"
#include "tessera/formats/atomic_file.h"
#include "tessera/formats/hidden_folder.h"
#include "tessera/training/objectives/registration.h"
#include "tessera/training/recipe/recipe_keys.h"
#include "tessera/training/recipe/recipe_paths.h"
#include "tessera/training/run/run_folder.h"
#include "tessera/training/run/session.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;
using evaluation::FinishedRun;
using evaluation::RunStats;
using training::Recipe;

// A recipe to train, or the folder of a run that is over.
struct Variant {
    std::string name;
    fs::path folder;
    std::optional<Recipe> recipe = {};
};

struct Request {
    std::vector<std::string> words;
    std::string folder, resume_command;
    std::int64_t context = 1024;
    bool resume = false, overwrite = false, json = false;
};

// mha.quick.json → mha
std::string short_name(const fs::path& path) {
    const fs::path name = path.filename().empty() ? path.parent_path().filename() : path.filename();
    fs::path stem = fs::is_directory(path) ? name : name.stem();
    while (stem.extension() == ".quick" || stem.extension() == ".full") stem = stem.stem();
    return stem.string();
}

std::vector<Variant> variants_of(const Request& request) {
    std::vector<std::string> overrides;
    std::vector<fs::path> paths;
    for (const std::string& word : request.words)
        if (word.find('=') == word.npos || fs::exists(word))
            paths.emplace_back(word);
        else
            overrides.push_back(word);
    training::check_said_once(overrides);
    std::vector<Variant> variants;
    std::set<std::string> names;
    for (const fs::path& path : paths) {
        check(fs::exists(path), path.string(), ": no such recipe, and no folder of a run");
        Variant variant{.name = short_name(path), .folder = path};
        check(names.insert(variant.name).second, path.string(), ": two of the runs would be called '", variant.name,
              "'");
        if (!fs::is_directory(path)) {
            variant.folder = fs::path(request.folder) / variant.name;
            variant.recipe = training::read_recipe(training::resolve_recipe_file(path, overrides));
            training::check_paths(*variant.recipe);
        }
        variants.push_back(std::move(variant));
    }
    check(!variants.empty(), "compare: RECIPE is missing: recipes, or folders of runs");
    return variants;
}

bool is_done(const Variant& variant) {
    const fs::path file = variant.folder / "recipe.json";
    return fs::exists(file) && training::has_result(variant.folder) &&
           training::resolve_recipe_file(file).json() == variant.recipe->resolved.json();
}

// The signal that stopped it; 0: it is over.
int train(const Variant& variant, const Request& request, const std::string& place) {
    const Recipe& recipe = *variant.recipe;
    if (request.resume && is_done(variant)) return 0;
    const Interruption interruption;
    std::optional<Progress> progress;
    training::SessionEvents events;
    if (!request.json)
        events.on_resume = [&](std::int64_t step, const std::vector<training::ChangedSetting>& changes) {
            std::printf("%s\n", resumption(variant.folder.string(), step, changes).c_str());
        };
    events.on_start = [&](const models::Model&, const training::Trainer& trainer) {
        progress.emplace(text_of(place, " ", variant.name), static_cast<double>(trainer.all_steps()), "steps");
    };
    // Stopping is the session's: it leaves a checkpoint.
    events.on_step = [&](const training::StepReport& report, const char*) {
        if (Interruption::signal() == 0) progress->set(static_cast<double>(report.step));
    };
    const training::SessionResult result = training::run_session(recipe,
                                                                 {.folder = variant.folder,
                                                                  .resume = request.resume,
                                                                  .overwrite = request.overwrite,
                                                                  .device = parse_device(recipe.device),
                                                                  .recipe_file = recipe.resolved.source()},
                                                                 events);
    if (result.stopped_by != 0) {
        end_of_stopped(result, text_of(one_line(variant.name), " stopped"), request.resume_command);
        return result.stopped_by;
    }
    if (request.json) return 0;
    std::printf("%s %s: %s\n", place.c_str(), one_line(variant.name).c_str(), outcome(result).c_str());
    std::fflush(stdout);
    return 0;
}

// Losses of other objectives, or on other data, stand for something else.
void check_comparable(const Recipe& first, const Recipe& other) {
    check(first.objective == other.objective, other.resolved.source(), ": objective ", other.objective, ", while ",
          first.resolved.source(), " has ", first.objective, ": their losses cannot be compared");
    check(first.validation_data == other.validation_data, other.resolved.source(), ": other validation data than ",
          first.resolved.source(), "; data.validation=… gives all of them the same");
}

// Its report is all that it writes beside the runs.
void check_folder(const Request& request, const std::vector<Variant>& variants) {
    std::error_code error;
    const fs::path folder = request.folder;
    check(!fs::exists(folder, error) || fs::is_directory(folder), folder.string(),
          ": is a file, and a folder is to be written");
    for (const Variant& variant : variants)
        check(!fs::equivalent(folder, variant.folder, error), folder.string(),
              ": is the folder of a run that is read; name another one to write");
    if (request.resume || request.overwrite) return;
    const bool has_report = fs::exists(folder / "comparison.json", error);
    for (const std::string name : formats::names_in(folder)) {
        if (has_report && (name == "comparison.md" || name == "comparison.json" || name == "curves.svg")) continue;
        // A run's own folder speaks for itself.
        const bool is_variant = std::any_of(variants.begin(), variants.end(), [&](const Variant& variant) {
            return fs::equivalent(variant.folder, folder / name, error);
        });
        check(is_variant, folder.string(), ": is not empty: it holds ", name,
              "; name another folder, or say --resume or --overwrite");
    }
}

int report(const std::vector<FinishedRun>& runs, const Request& request) {
    std::vector<RunStats> figures;
    for (const FinishedRun& run : runs) figures.push_back(evaluation::figures_of(run));
    evaluation::measure_decoding(runs, figures, request.context);
    const bool of_tokens = training::objective_of(runs[0].recipe).has(training::Metric::Perplexity);
    const std::string table = markdown_of(figures, of_tokens ? "tokens" : "units");
    const formats::Json json = to_json(figures);
    const fs::path folder = request.folder;
    formats::write_file(folder / "comparison.md", table);
    json.write(folder / "comparison.json");
    const fs::path name = fs::absolute(folder).lexically_normal();
    formats::write_file(
        folder / "curves.svg",
        svg_of(loss_curves(figures, (name.filename().empty() ? name.parent_path() : name).filename().string())));
    if (request.json)
        std::printf("%s\n", json.dump().c_str());
    else
        std::printf("\n%s\n%s: comparison.md, comparison.json, curves.svg\n", table.c_str(), request.folder.c_str());
    return 0;
}

}  // namespace

int compare_command(const std::vector<std::string>& arguments) {
    Request request;
    Arguments parser("compare",
                     "Trains recipes one after another, and puts what came out side by side: size, loss, speed and "
                     "cache in one table, the losses in one image.",
                     "tessera compare recipes/shapes/*.quick.json steps=100 -o runs/shapes");
    parser.positionals("RECIPE", request.words,
                       "recipes, or folders of runs that are over; and key=value settings for all the recipes");
    parser.option("-o,--output DIR", request.folder,
                  "the folder to write, needed; each recipe's run is a folder in it");
    parser.option("--context", request.context, "how long the text is after which decoding is measured, in tokens");
    parser.flag("--resume", request.resume, "keep runs that are over, go on with those that are not");
    parser.flag("--overwrite", request.overwrite, "replace earlier runs in the folder, each when the new one is whole");
    parser.threads();
    parser.json(request.json);
    if (const auto status = parser.parse(arguments)) return *status;
    if (request.folder.empty()) {
        return parser.refuse("-o DIR is missing");
    }
    if (request.resume && request.overwrite) return parser.refuse(resume_or_overwrite);
    constexpr std::int64_t longest_context = 1 << 20;
    check(request.context > 0 && request.context <= longest_context, "--context: expected 1 to ", longest_context,
          ", found ", request.context);
    const std::vector<Variant> variants = variants_of(request);
    const Recipe* first = nullptr;
    for (const Variant& variant : variants) {
        if (!variant.recipe) continue;
        if (first) check_comparable(*first, *variant.recipe);
        first = first ? first : &*variant.recipe;
    }
    check_folder(request, variants);
    request.resume_command = resume_command("compare", arguments);
    for (std::size_t i = 0; i < variants.size(); ++i)
        if (const int signal =
                variants[i].recipe ? train(variants[i], request, text_of(i + 1, "/", variants.size())) : 0)
            return status_after(signal);
    std::vector<FinishedRun> runs;
    for (const Variant& variant : variants) {
        const Device device = variant.recipe ? parse_device(variant.recipe->device) : cpu;
        runs.push_back(evaluation::open_run(variant.name, variant.folder, device));
        check_comparable(runs[0].recipe, runs.back().recipe);
    }
    fs::create_directories(request.folder);
    return report(runs, request);
}

}  // namespace tessera::cli
