// Epochs as steps.
#include "tessera/training/run/epochs.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "tessera/training/recipe/recipe_keys.h"

namespace tessera::training {
namespace {

using testing::expect_error;

Recipe counted_in_epochs(std::vector<std::string> settings) {
    settings.insert(settings.end(), {"batch=4", "schedule.warmup=1"});
    return read_recipe(resolve_recipe(formats::Json::parse(R"({"model": "m", "data": {"train": "a.txt"}})", "r.json"),
                                      settings, "r.json"));
}

std::int64_t settled_steps(const std::vector<std::string>& settings, std::int64_t examples) {
    Recipe recipe = counted_in_epochs(settings);
    settle_steps(recipe, examples);
    EXPECT_EQ(recipe.schedule.total_steps, recipe.steps);
    return recipe.steps;
}

TEST(Epochs, AsManyStepsAsSeeAllExamplesSoOften) {
    EXPECT_EQ(settled_steps({"epochs=1"}, 40), 10);
    EXPECT_EQ(settled_steps({"epochs=3"}, 40), 30);
    EXPECT_EQ(settled_steps({"epochs=1"}, 41), 11);
    EXPECT_EQ(settled_steps({"epochs=0.5"}, 40), 5);
    EXPECT_EQ(settled_steps({"epochs=0.1"}, 120), 3);
    EXPECT_EQ(settled_steps({"epochs=1"}, 1), 1);
    EXPECT_EQ(settled_steps({"epochs=2", "accumulate=5"}, 40), 4);
    EXPECT_EQ(settled_steps({"epochs=2", "data.held_out=20"}, 40), 10);
    EXPECT_EQ(settled_steps({"epochs=2", "data.limit=8"}, 40), 4);
    EXPECT_EQ(settled_steps({"epochs=2", "data.shard=1/2"}, 40), 10);
    EXPECT_EQ(settled_steps({"steps=7"}, 40), 7);
}

TEST(Epochs, AfterSomeSteps) {
    EXPECT_EQ(epochs_after(counted_in_epochs({"steps=7"}), 40, 15), 1.5);
    EXPECT_EQ(epochs_after(counted_in_epochs({"steps=7", "data.held_out=20", "accumulate=2"}), 40, 5), 2);
}

TEST(Epochs, WhatHasNoneOrTooManyIsRefused) {
    expect_error([] { settled_steps({"epochs=1e30"}, 40); }, {"epochs", "too many steps"});
    expect_error(
        [] {
            settled_steps({"epochs=1", "data.train=a.scenes.json"}, 40);
        },
        {"epochs", "a.scenes.json", "steps"});
    expect_error([] { settled_steps({"epochs=1", "data.held_out=40"}, 40); }, {"data.held_out", "40 of 40"});
}

}  // namespace
}  // namespace tessera::training
