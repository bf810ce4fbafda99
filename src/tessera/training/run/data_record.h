// What a run's examples are made of: kept with every checkpoint, so that a run goes on with the data it has learned
// from, or not at all.
#pragma once

#include <functional>

#include "tessera/training/recipe/recipe.h"

namespace tessera::training {

// For each path of data.train and data.validation how many files it stands for, their bytes, and a hash of their names
// below it and their content; of images, which are many and large, names and sizes alone.
formats::Json record_of_data(const Recipe& recipe,
                             const std::function<void(double done, double total)>& on_progress = {});

// Throws, with old and new, where the data is not what it was. `earlier` is null for a checkpoint without a record.
void check_same_data(const Recipe& recipe, const formats::Json& earlier, const formats::Json& now);

}  // namespace tessera::training
