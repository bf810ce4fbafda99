// tessera train: a model from a recipe.
#include <cstdio>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/commands/next_command.h"
#include "tessera/cli/commands/training_display.h"
#include "tessera/core/error.h"
#include "tessera/training/recipe/recipe_keys.h"
#include "tessera/training/run/session.h"

namespace tessera::cli {
namespace {

void print_keys() {
    std::printf(
        "The keys of a recipe, with their defaults. On the command line: key=value.\n"
        "Those marked * may change when a run goes on with --resume.\n\n");
    for (const training::RecipeKey& key : training::recipe_keys())
        std::printf("%c %-26s %-14s %s (%s)\n", key.use.may_change ? '*' : ' ', key.name,
                    key.fallback ? key.fallback : "needed", key.help, training::describe(key.kind));
}

// The name of the recipe's file is the folder's, unless one is given.
std::string folder_for(const std::string& recipe, const std::string& given) {
    if (!given.empty()) return given;
    return text_of("runs/", std::filesystem::path(recipe).stem().string());
}

}  // namespace

int train_command(const std::vector<std::string>& arguments) {
    std::string file, folder, device_name;
    std::vector<std::string> overrides;
    bool resume = false, overwrite = false, keys = false, json = false;
    Arguments parser("train", "Trains a model as a recipe says, and leaves a folder that can be run at once.",
                     "tessera train recipes/transformer.quick.json steps=200 -o runs/whale");
    parser.optional_positional("RECIPE", file, "a JSON file, or the folder of a run; --keys lists what it may say");
    parser.optional_positionals("KEY=VALUE", overrides,
                                "settings in place of the recipe's, such as steps=200 optimizer.learning_rate=1e-3");
    parser.option("-o,--output DIR", folder, "the folder to write (default: runs/NAME of the recipe)");
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
        std::fprintf(stderr, "tessera train: RECIPE is missing; see tessera train --help\n");
        return 2;
    }
    if (std::filesystem::is_directory(file)) {  // of a run, which goes on where it is
        check(resume || !folder.empty(), file,
              ": the folder of a run: --resume goes on with it, -o does it again elsewhere");
        if (folder.empty()) folder = file;
        file = std::filesystem::path(file) / "recipe.json";
    }
    const training::Recipe recipe = training::read_recipe(training::resolve_recipe_file(file, overrides));
    const std::string home = folder_for(file, folder);
    return train_with_display(recipe,
                              {.folder = home,
                               .resume = resume,
                               .overwrite = overwrite,
                               .device = parse_device(recipe.device, "device"),
                               .recipe_file = file},
                              json, resume_command("train", arguments));
}

}  // namespace tessera::cli
