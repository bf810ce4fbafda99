// Recipes are checked against the table of keys: names, kinds, values, and settings from the command line.
#include "tessera/training/recipe/recipe.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "tessera/training/recipe/recipe_keys.h"

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
    EXPECT_EQ(recipe.optimizer, OptimizerKind::AdamW);
    EXPECT_FALSE(recipe.lora.has_value());
    EXPECT_FALSE(recipe.loss.balance.has_value());
    for (const RecipeKey& key : recipe_keys())  // each is written beside the result
        EXPECT_NE(
            recipe.resolved.json().dump(0).find(std::string(key.name).substr(std::string(key.name).rfind('.') + 1)),
            std::string::npos)
            << key.name;
}

TEST(RecipeKeys, EachIsStoredWhereItIsDeclared) {
    const Recipe recipe =
        read(least, {"from_scratch=true", "weights=w", "vocabulary=7", "device=cuda", "data.separator=|",
                     "data.field=body", "data.mask=0.3", "data.whole_words=true", "data.noise=0.4", "data.span=5",
                     "data.permute=false", "beyond_context=true", "layer_wise=true", "label_smoothing=0.1",
                     "z_loss=0.2", "balance=0.3", "lora.rank=4", "optimizer.weight_decay=0.6", "schedule.warmup=3"});
    EXPECT_TRUE(recipe.model.is_string());
    EXPECT_TRUE(recipe.from_scratch && recipe.whole_words && recipe.beyond_context && recipe.layer_wise);
    EXPECT_FALSE(recipe.permute);
    EXPECT_EQ(recipe.weights, "w");
    EXPECT_EQ(recipe.vocabulary, 7);
    EXPECT_EQ(recipe.device, "cuda");
    EXPECT_EQ(recipe.separator, "|");
    EXPECT_EQ(recipe.field, "body");
    EXPECT_EQ((std::vector{recipe.mask, recipe.noise, recipe.span}), (std::vector{0.3, 0.4, 5.0}));
    EXPECT_EQ((std::vector{recipe.loss.label_smoothing, recipe.loss.z_loss, *recipe.loss.balance}),
              (std::vector{0.1, 0.2, 0.3}));
    EXPECT_EQ(recipe.lora->alpha, 8);
    EXPECT_EQ((std::vector{recipe.adamw.weight_decay, recipe.sgd.weight_decay, recipe.adafactor.weight_decay}),
              (std::vector{0.6, 0.6, 0.6}));
    EXPECT_EQ(recipe.schedule.warmup_steps, 3);
    for (const RecipeKey& key : recipe_keys()) EXPECT_NE(key.store, nullptr) << key.name;
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
    EXPECT_THROW(resolved(with(R"("qqqqqqqqqqqq": 5)")), UnknownKey);
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
    const Json lists = resolved(with(R"("freeze": "wte,h.0", "lora": {"targets": ["q_proj,v_proj"]})")).json();
    EXPECT_EQ(lists.find("freeze")->dump(0), R"(["wte","h.0"])");
    // As runs have it that were made before.
    EXPECT_EQ(lists.find("lora")->find("targets")->dump(0), R"(["q_proj","v_proj"])");
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
    expect_error([&] { model({"model.width=wide"}); }, {"model.width=wide", "a number in place of 8", "\"wide\""});
    expect_error([&] { model({"model.tied=1"}); }, {"model.tied=1", "true or false in place of true", "found 1"});
    expect_error([&] { model({"model.inner=[1"}); }, {"model.inner=[1", "an object"});
    EXPECT_EQ(model({"model.model_type=12"}).text("model_type"), "12");
}

// A configuration that stands in a file or is a preset is as good as one in the recipe; weights have their sizes.
TEST(RecipeKeys, FieldsOfAModelElsewhereAreReplacedToo) {
    const testing::TemporaryFolder folder;
    folder.write("sizes/config.json", R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 3})");
    folder.write("trained/config.json", R"({"model_type": "llama", "hidden_size": 64})");
    folder.write("trained/model.safetensors", "");
    const auto changed = [&](const std::string& model, const std::string& setting) {
        const Json recipe = Json::object().set("model", model).set("data", Json::object().set("train", "a.txt"));
        return resolve_recipe(recipe, {setting}, "r.json", folder.path()).section("model");
    };
    for (const char* name : {"sizes", "sizes/config.json", "gpt2"}) {
        const std::string field = std::string(name) == "gpt2" ? "n_embd" : "hidden_size";
        EXPECT_EQ(changed(name, text_of("model.", field, "=32")).integer(field), 32) << name;
    }
    EXPECT_EQ(changed("sizes", "model.hidden_size=32").integer("num_hidden_layers"), 3);
    expect_error([&] { changed("sizes", "model.hiden_size=32"); }, {"'model.hiden_size=32'", "mean 'hidden_size'"});
    expect_error([&] { changed("trained", "model.hidden_size=32"); }, {"'model.hidden_size=32'", "trained", "weights"});
    expect_error([&] { changed("nowhere", "model.hidden_size=32"); }, {"nowhere", "neither a folder"});
}

TEST(RecipeKeys, ValuesOfTheCommandLineAreNamedWithWhatWasExpected) {
    for (const auto& [setting, expected] :
         {std::pair("data.length=banana", "expected a count from 0, found \"banana\""),
          {"steps=1e2x", "expected a count from 0 or null, found \"1e2x\""},
          {"optimizer.learning_rate=fast", "expected a number, found \"fast\""},
          {"recompute=yes", "expected true or false, found \"yes\""},
          {"rates={\"a\":", "expected an object of numbers, found"},
          {"batch=", "expected a count from 0, found \"\""},
          {"clip=1e999", "clip: expected a number"},
          {"seed=99999999999999999999", "expected a count from 0, found 1e"}})
        expect_error([&, text = setting] { resolved(least, {text}); }, {text_of("'", setting, "'"), expected});
    EXPECT_EQ(read(least, {"steps=2e3"}).steps, 2000);
    EXPECT_EQ(read(least, {"data.train=[a].txt"}).train_data, std::vector<std::string>{"[a].txt"});
    EXPECT_EQ(read(with(R"("batch": 16.0)")).batch, 16);
    expect_error([] { read(least, {"rates={\"a\":-1}"}); }, {"rates.a", "-1"});
}

TEST(RecipeKeys, ARunIsAsLongAsItsStepsOrItsEpochs) {
    EXPECT_EQ(read(least).steps, 1000);
    EXPECT_EQ(read(least, {"epochs=1.5"}).epochs, 1.5);
    EXPECT_EQ(read(with(R"("steps": 5)"), {"epochs=2"}).epochs, 2);  // what the command line says goes first
    EXPECT_EQ(read(with(R"("epochs": 2)"), {"steps=5"}).steps, 5);
    EXPECT_FALSE(read(with(R"("epochs": 2)"), {"steps=5"}).epochs.has_value());
    EXPECT_FALSE(read(with(R"("epochs": 2)"), {"epochs=null"}).epochs.has_value());
    const Json once = resolved(least, {"epochs=3"}).json();
    EXPECT_EQ(resolve_recipe(once, {}, "again").json().dump(), once.dump());
    expect_error([] { read(with(R"("steps": 5, "epochs": 2)")); }, {"r.json", "steps: 5 and epochs: 2"});
    expect_error([] { read(least, {"steps=5", "epochs=2"}); }, {"steps: 5 and epochs: 2"});
    for (const char* wrong : {"epochs=0", "epochs=-1", "epochs=many"})
        expect_error([&] { read(least, {wrong}); }, {"epochs"});
}

TEST(Recipe, ValuesThatMakeNoSenseAreRefused) {
    expect_error([] { read(least, {"optimizer.name=adam"}); }, {"optimizer.name", "adamw, adafactor, sgd", "adam"});
    expect_error([] { read(least, {"schedule.name=step"}); }, {"schedule.name", "cosine"});
    expect_error([] { read(least, {"precision=f16"}); }, {"precision", "f32, bf16"});
    expect_error([] { read(least, {"batch=0"}); }, {"batch"});
    expect_error([] { read(least, {"ema=1"}); }, {"ema"});
    expect_error([] { read(least, {"optimizer.beta1=1"}); }, {"beta1"});
    expect_error([] { read(least, {"clip=-1"}); }, {"clip", "expected a number from 0, found -1"});
    expect_error([] { read(least, {"schedule.floor=2"}); }, {"schedule.floor", "a share from 0 to 1, found 2"});
    expect_error([] { read(least, {"model="}); }, {"model", "found \"\""});
    expect_error([] { read(least, {"optimizer=sgd"}); }, {"'optimizer' is a section", "optimizer.name"});
    expect_error([] { read(with(R"("save": 100)")); }, {"'save' is a section: save.every, save.keep"});
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
