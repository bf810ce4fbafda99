// Paths in a recipe are relative to the recipe's file. One that leads nowhere from there is looked for from the working
// directory, as those of the command line are. What is found is written whole, so that the recipe in a run's folder
// means the same wherever it is opened.
#pragma once

#include <filesystem>

#include "tessera/training/recipe/recipe.h"
#include "tessera/training/recipe/recipe_keys.h"

namespace tessera::training {

// The value with its paths made whole, where the key has paths. Names of presets and of tokenizers to be made are left,
// and so are paths that lead nowhere. An empty folder is the working directory.
formats::Json with_whole_path(const RecipeKey& key, formats::Json value, const std::filesystem::path& folder);

// Throws for a path that leads nowhere, before anything is made.
void check_paths(const Recipe& recipe);

}  // namespace tessera::training
