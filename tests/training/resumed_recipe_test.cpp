// What may change when a run goes on, and how it is recorded.
#include "tessera/training/recipe/resumed_recipe.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "tessera/training/recipe/recipe_keys.h"

namespace tessera::training {
namespace {

using formats::Json;
using testing::expect_error;

formats::Config said(const std::vector<std::string>& settings, const char* source = "now") {
    return resolve_recipe(
        Json::parse(R"({"model": {"model_type": "a", "width": 8}, "data": {"train": "a.txt"}})", source), settings,
        source);
}

TEST(ResumedRecipe, TheSameSettingsAreNoChange) {
    EXPECT_TRUE(changed_settings(said({"clip=1", "steps=1e3"}), said({"clip=1.0"})).empty());
}

TEST(ResumedRecipe, WhatMayChangeIsToldWithOldAndNewValue) {
    const auto changes =
        changed_settings(said({}), said({"steps=2000", "optimizer.learning_rate=1e-4", "save.every=5", "device=cuda"}));
    ASSERT_EQ(changes.size(), 4u);
    EXPECT_EQ(changes[0].key, "steps");
    EXPECT_EQ(changes[0].old_value, Json(1000));
    EXPECT_EQ(changes[0].new_value, Json(2000));
    EXPECT_EQ(changes[1].key, "optimizer.learning_rate");
}

// Every key is one or the other, and each that may not change is refused.
TEST(ResumedRecipe, AllOthersAreRefusedWithOldAndNewValue) {
    for (const auto& [setting, told] : {std::pair("batch=4", "batch: 8 → 4"),
                                        {"seed=3", "seed: 0 → 3"},
                                        {"model.width=16", "model.width: 8 → 16"},
                                        {"model=gpt2", "→ \"gpt2\""},
                                        {"data.train=b.txt", "data.train: [\"a.txt\"] → [\"b.txt\"]"},
                                        {"data.shuffle=false", "data.shuffle: true → false"},
                                        {"tokenizer=bytes", "tokenizer: \"\" → \"bytes\""},
                                        {"objective=masked", "objective: \"causal\" → \"masked\""},
                                        {"optimizer.name=sgd", "optimizer.name: \"adamw\" → \"sgd\""},
                                        {"lora.rank=4", "lora.rank: 0 → 4"},
                                        {"precision=bf16", "precision: \"f32\" → \"bf16\""},
                                        {"freeze=x", "freeze: [] → [\"x\"]"},
                                        {"ema=0.5", "ema: 0 → 0.5"},
                                        {"accumulate=2", "accumulate: 1 → 2"}})
        expect_error([&, one = setting] { changed_settings(said({}, "runs/recipe.json"), said({one})); },
                     {"now", "runs/recipe.json", told});
    expect_error(
        [] {
            changed_settings(said({}), said({"batch=4", "steps=5", "seed=3"}));
        },
        {"batch: 8 → 4; seed: 0 → 3"});
}

TEST(ResumedRecipe, LayersThatLearnInTurnKeepTheirShares) {
    const std::string turns = "layer_wise=true";
    expect_error([&] { changed_settings(said({turns}), said({turns, "steps=7"})); }, {"steps: 1000 → 7"});
    EXPECT_EQ(changed_settings(said({turns}), said({turns, "save.every=7"})).size(), 1u);
}

TEST(ResumedRecipe, TheHistoryGrowsAndIsNoSetting) {
    const formats::Config first = said({}), second = said({"steps=7"}), third = said({"steps=9"});
    EXPECT_EQ(with_history(first.json(), first.json(), 3, {}), first.json());
    const Json once = with_history(second.json(), first.json(), 3, changed_settings(first, second));
    const Json twice = with_history(third.json(), once, 5, changed_settings(second, third));
    EXPECT_EQ(twice.find("resumed")->dump(0),
              R"([{"step":3,"key":"steps","old":1000,"new":7},{"step":5,"key":"steps","old":7,"new":9}])");
    EXPECT_EQ(resolve_recipe(twice, {}, "again").json(), third.json());
}

}  // namespace
}  // namespace tessera::training
