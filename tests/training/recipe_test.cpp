// Recipes are checked against the table of keys: names, kinds, values, and settings from the command line.
#include "training/recipe.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "training/recipe_keys.h"

namespace tessera::training {
namespace {

using formats::Json;
using testing::expect_error;

const char* const least = R"({"model": "m", "data": {"train": ["a.txt"]}})";

formats::Config resolved(const std::string& text, const std::vector<std::string>& overrides = {}) {
    return resolve_recipe(Json::parse(text, "r.json"), overrides, "r.json");
}
Recipe read(const std::string& text, const std::vector<std::string>& overrides = {}) {
    return read_recipe(resolved(text, overrides));
}
std::string with(const std::string& member) { return std::string(least).replace(1, 0, member + ", "); }

TEST(RecipeKeys, DefaultsCompleteTheLeastRecipe) {
    const Recipe recipe = read(least);
    EXPECT_EQ(recipe.objective, "causal");
    EXPECT_EQ(recipe.train_data, std::vector<std::string>{"a.txt"});
    EXPECT_EQ(recipe.batch, 8);
    EXPECT_EQ(recipe.optimizer, OptimizerKind::adamw);
    EXPECT_FALSE(recipe.lora.has_value());
    EXPECT_FALSE(recipe.balance.has_value());
    for (const RecipeKey& key : recipe_keys())  // each is written beside the result
        EXPECT_NE(
            recipe.resolved.json().dump(0).find(std::string(key.name).substr(std::string(key.name).rfind('.') + 1)),
            std::string::npos)
            << key.name;
}

TEST(RecipeKeys, TheResolvedRecipeResolvesToItself) {
    const Json once = resolved(least, {"steps=7", "rates={\"head\":0.5}", "freeze=tokens"}).json();
    EXPECT_EQ(resolve_recipe(once, {}, "again").json().dump(), once.dump());
}

TEST(RecipeKeys, AMisspeltKeyIsAnErrorThatSuggestsTheRightOne) {
    expect_error([] { resolved(with(R"("stpes": 5)")); }, {"r.json", "'stpes'", "did you mean 'steps'"});
    expect_error([] { resolved(with(R"("optimizer": {"learning_rat": 1})")); }, {"'optimizer.learning_rate'"});
    expect_error([] { resolved(with(R"("learning_rate": 1)")); }, {"'optimizer.learning_rate'"});
    expect_error([] { resolved(least, {"bacth=3"}); }, {"'bacth=3'", "did you mean 'batch'"});
    expect_error([] { resolved(least, {"optimizer.lr=3"}); }, {"did you mean 'optimizer.learning_rate'"});
    expect_error([] { resolved(with(R"("max_grad_norm": 5)")); }, {"did you mean 'clip'"});
    expect_error([] { resolved(with(R"("qqqqqqqqqqqq": 5)")); }, {"--keys"});
}

TEST(RecipeKeys, WhatTheCommandLineSaidIsNamedWhereItMakesNoSense) {
    expect_error([] { read(least, {"steps=5", "batch=0"}); }, {"r.json with steps=5 batch=0: batch: ", "found 0"});
    expect_error([] { read(with(R"("batch": 0)")); }, {"r.json: batch: ", "found 0"});
}

TEST(RecipeKeys, WrongKindsAreRefusedByNameAndValue) {
    expect_error([] { resolved(with(R"("steps": "many")")); }, {"r.json", "steps", "a count", "\"many\""});
    expect_error([] { resolved(with(R"("steps": -1)")); }, {"steps", "-1"});
    expect_error([] { resolved(with(R"("steps": 1.5)")); }, {"steps", "1.5"});
    expect_error([] { resolved(with(R"("recompute": 1)")); }, {"recompute", "true or false"});
    expect_error([] { resolved(with(R"("freeze": [1])")); }, {"freeze", "a list of texts"});
    expect_error([] { resolved(with(R"("rates": {"a": "b"})")); }, {"rates", "an object of numbers"});
    expect_error([] { resolved(with(R"("balance": "much")")); }, {"balance", "a number or null"});
    expect_error([] { read(with(R"("balance": -1)")); }, {"r.json", "balance", "-1"});
    expect_error([] { resolved(with(R"("optimizer": 3)")); }, {"optimizer"});
    expect_error([] { resolved("[]"); }, {"r.json", "an object"});
}

TEST(RecipeKeys, WhatIsNeededMustBeThere) {
    expect_error([] { resolved(R"({"model": "m"})"); }, {"data.train", "missing"});
    expect_error([] { resolved(R"({"data": {"train": "a"}})"); }, {"model", "missing"});
}

TEST(RecipeKeys, OverridesTakeTheirPlaceAndTheLastOneCounts) {
    const Recipe recipe =
        read(with(R"("steps": 5)"), {"steps=7", "optimizer.learning_rate=1e-3", "data.train=b.txt",
                                     "freeze=[\"x\",\"y\"]", "recompute=true", "steps=9", "model=n=1"});
    EXPECT_EQ(recipe.steps, 9);
    EXPECT_EQ(recipe.schedule.peak, 1e-3);
    EXPECT_EQ(recipe.train_data, std::vector<std::string>{"b.txt"});
    EXPECT_EQ(recipe.freeze, (std::vector<std::string>{"x", "y"}));
    EXPECT_TRUE(recipe.recompute);
    EXPECT_EQ(recipe.resolved.text("model"), "n=1");
    expect_error([] { resolved(least, {"steps"}); }, {"'steps'", "key=value"});
    expect_error([] { resolved(least, {"=3"}); }, {"key=value"});
    expect_error([] { resolved(least, {"steps=abc"}); }, {"steps=abc"});
    expect_error([] { resolved(least, {"steps="}); }, {"steps="});
}

TEST(RecipeKeys, FieldsOfTheModelAreReplacedWhereTheyAre) {
    const std::string recipe =
        R"({"model": {"model_type": "a", "width": 8, "tied": true, "inner": {"x": 1}}, "data": {"train": "a"}})";
    const auto model = [&](const std::vector<std::string>& overrides) {
        return resolved(recipe, overrides).section("model");
    };
    const formats::Config changed =
        model({"model.width=16", "model.tied=false", "model.model_type=b", "model.inner.x=2"});
    EXPECT_EQ(changed.integer("width"), 16);
    EXPECT_FALSE(changed.boolean("tied"));
    EXPECT_EQ(changed.text("model_type"), "b");
    EXPECT_EQ(changed.section("inner").integer("x"), 2);
    expect_error([&] { model({"model.widht=16"}); }, {"model.widht=16", "did you mean 'width'"});
    expect_error([&] { model({"model.width.x=16"}); }, {"no section 'width'"});
    expect_error([&] { model({"model.width=1x"}); }, {"model.width=1x"});
    expect_error([&] { resolved(least, {"model.width=16"}); }, {"unknown key 'model.width'"});
}

TEST(Recipe, ValuesThatMakeNoSenseAreRefused) {
    expect_error([] { read(least, {"optimizer.name=adam"}); }, {"optimizer.name", "adamw, adafactor, sgd", "adam"});
    expect_error([] { read(least, {"schedule.name=step"}); }, {"schedule.name", "cosine"});
    expect_error([] { read(least, {"precision=f16"}); }, {"precision", "f32, bf16"});
    expect_error([] { read(least, {"batch=0"}); }, {"batch"});
    expect_error([] { read(least, {"ema=1"}); }, {"ema"});
    expect_error([] { read(least, {"optimizer.beta1=1"}); }, {"beta1"});
    expect_error([] { read(least, {"clip=-1"}); }, {"clip"});
}

TEST(Recipe, LoraTargetsMayStandInOneText) {
    const Recipe recipe = read(least, {"lora.rank=4", "lora.targets=q_proj,v_proj"});
    ASSERT_TRUE(recipe.lora.has_value());
    EXPECT_EQ(recipe.lora->rank, 4);
    EXPECT_EQ(recipe.lora->alpha, 8);
    EXPECT_EQ(recipe.lora->targets, (std::vector<std::string>{"q_proj", "v_proj"}));
    expect_error([] { read(least, {"lora.rank=4", "lora.targets=[]"}); }, {"lora.targets"});
}

}  // namespace
}  // namespace tessera::training
