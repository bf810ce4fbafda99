// A run that goes on from a checkpoint keeps its recipe but for the keys that may change (`may_change` in the table of
// keys). What did change is recorded with the step from which on it holds.
#pragma once

#include <string>
#include <vector>

#include "tessera/training/recipe/recipe.h"

namespace tessera::training {

struct ChangedSetting {
    std::string key;
    formats::Json old_value, new_value;
};

// From the run's own recipe (recipe.json) to the one that it is to go on with. Throws, with old and new values, where
// keys changed that may not.
std::vector<ChangedSetting> changed_settings(const formats::Config& earlier, const formats::Config& now);

// What recipe.json says from now on: the recipe, and the history of the run's settings with these changes at its end.
formats::Json with_history(const formats::Json& recipe, const formats::Json& earlier, std::int64_t step,
                           const std::vector<ChangedSetting>& changes);

}  // namespace tessera::training
