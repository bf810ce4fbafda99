#include "tessera/training/run/epochs.h"

#include <algorithm>
#include <cmath>

#include "tessera/core/error.h"

namespace tessera::training {
namespace {

constexpr double most_steps = 0x1p31;

double examples_of_a_step(const Recipe& recipe) {
    return static_cast<double>(recipe.batch) * static_cast<double>(recipe.accumulate) *
           static_cast<double>(recipe.shards);
}

}  // namespace

std::int64_t learned_examples(const Recipe& recipe, std::int64_t examples) {
    if (recipe.held_out >= examples)
        recipe.resolved.reject("data.held_out",
                               text_of(recipe.held_out, " of ", examples, " examples: none is left to learn from"));
    return std::min(examples - recipe.held_out, recipe.limit);
}

double epochs_after(const Recipe& recipe, std::int64_t examples, std::int64_t steps) {
    return static_cast<double>(steps) * examples_of_a_step(recipe) /
           static_cast<double>(learned_examples(recipe, examples));
}

void settle_steps(Recipe& recipe, std::int64_t examples) {
    if (!recipe.epochs) return;
    for (const std::string& path : recipe.train_data)
        if (path.ends_with(".scenes.json"))
            recipe.resolved.reject("epochs", text_of(path,
                                                     " makes its images as they are asked for, a stream without "
                                                     "epochs; say steps"));
    const auto all = static_cast<double>(learned_examples(recipe, examples));
    // A little less, so that 0.1 of 30 examples is 3 and not 3.0000000000000004.
    const double steps = std::ceil(*recipe.epochs * all / examples_of_a_step(recipe) * (1 - 1e-12));
    if (steps >= most_steps) recipe.resolved.reject("epochs", text_of(*recipe.epochs, " are too many steps: ", steps));
    recipe.steps = recipe.schedule.total_steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(steps));
}

}  // namespace tessera::training
