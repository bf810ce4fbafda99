// How often a run learns from each example of its data: what epochs are in steps, and steps in epochs.
#pragma once

#include "tessera/training/recipe/recipe.h"

namespace tessera::training {

// Of so many examples in the data, those that are learned from.
std::int64_t learned_examples(const Recipe& recipe, std::int64_t examples);
double epochs_after(const Recipe& recipe, std::int64_t examples, std::int64_t steps);
// Where the recipe says epochs: as many whole steps as see all examples so often, and the schedule over them.
void settle_steps(Recipe& recipe, std::int64_t examples);

}  // namespace tessera::training
