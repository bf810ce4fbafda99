// tessera train: a model from a recipe.
#include <fmt/format.h>

#include <cstdio>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/commands/next_command.h"
#include "tessera/cli/commands/training_display.h"
#include "tessera/cli/commands/training_outcome.h"
#include "tessera/core/error.h"
#include "tessera/training/recipe/recipe_keys.h"
#include "tessera/training/run/run_folder.h"
#include "tessera/training/run/session.h"

namespace tessera::cli {
namespace {

void print_keys() {
    fmt::print(
        "The keys of a recipe, with their defaults. On the command line: key=value.\n"
        "A list is written with commas (freeze=wte,h.0) or as JSON (freeze='[\"wte\",\"h.0\"]').\n"
        "Those marked * may change when a run goes on with --resume.\n\n");
    for (const training::RecipeKey& key : training::recipe_keys())
        std::printf("%c %-26s %-14s %s (%s)\n", key.use.may_change ? '*' : ' ', key.name,
                    key.fallback ? key.fallback : "needed", key.help, training::describe(key.kind));
}

// Of a run in this folder; of the one that is to replace it and is not over, where that is to go on.
std::filesystem::path recipe_in(const std::string& folder, bool resume) {
    const std::filesystem::path run = resume ? training::unfinished_run(folder) : std::filesystem::path(folder);
    std::error_code error;
    check(
        std::filesystem::exists(run / "recipe.json", error), (run / "recipe.json").string(), ": no such file; ",
        run == std::filesystem::path(folder)
            ? "this is not the folder of a run"
            : "the run that was to replace the one in the folder has learned nothing yet: --overwrite begins it again");
    return run / "recipe.json";
}

}  // namespace

int train_command(const std::vector<std::string>& arguments) {
    std::string file;
    std::vector<std::string> folders;
    std::vector<std::string> overrides;
    bool resume = false, overwrite = false, keys = false, json = false;
    Arguments parser("train", "Trains a model as a recipe says, and leaves a folder that can be run at once.",
                     "tessera train recipes/transformer.quick.json steps=200 -o runs/whale");
    parser.optional_positional("RECIPE", file, "a JSON file, or the folder of a run; --keys lists what it may say");
    parser.optional_positionals("KEY=VALUE", overrides,
                                "settings in place of the recipe's, such as steps=200 optimizer.learning_rate=1e-3");
    parser.option("-o,--output DIR", folders, "the folder to write (default: runs/NAME of the recipe)");
    parser.flag("--resume", resume, "go on from the newest checkpoint in the folder");
    parser.flag("--overwrite", overwrite, "replace the run or the model in the folder, when the new one is whole");
    parser.flag("--keys", keys, "list every key of a recipe");
    parser.threads();
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    if (keys) {
        print_keys();
        return 0;
    }
    if (file.empty()) {
        return parser.refuse("RECIPE is missing");
    }
    if (resume && overwrite) return parser.refuse(resume_or_overwrite);
    if (folders.size() > 1) return parser.refuse("-o: one folder is written");
    std::string folder = folders.empty() ? std::string() : folders[0];
    if (folder.empty() && !folders.empty()) return parser.refuse("-o: expected a folder, found ''");
    std::error_code error;
    if (std::filesystem::is_directory(file, error)) {  // of a run, which goes on where it is
        check(resume || !folder.empty(), file,
              ": the folder of a run: --resume goes on with it, -o does it again elsewhere");
        if (folder.empty()) folder = file;
        file = recipe_in(file, resume);
    }
    training::check_said_once(overrides);
    const training::Recipe recipe = training::read_recipe(training::resolve_recipe_file(file, overrides));
    if (folder.empty()) folder = text_of("runs/", std::filesystem::path(file).stem().string());
    return train_with_display(recipe,
                              {.folder = folder,
                               .resume = resume,
                               .overwrite = overwrite,
                               .device = parse_device(recipe.device, "device"),
                               .recipe_file = file},
                              json, resume_command("train", arguments));
}

}  // namespace tessera::cli
