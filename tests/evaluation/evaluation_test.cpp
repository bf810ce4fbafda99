// An evaluation tells the metrics that the objective has, and takes the settings of the run that a model is of.
#include "tessera/evaluation/evaluation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.h"
#include "support/objective_case.h"
#include "tessera/formats/image/image.h"
#include "tessera/training/token_corpus.h"

namespace tessera::evaluation {
namespace {

using testing::expect_error;
using testing::ObjectiveCase;
using testing::TemporaryFolder;

const std::string small_llama = R"("model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 12, "max_position_embeddings": 64)";

Report report_of(const ObjectiveCase& test, const TemporaryFolder& folder) {
    std::filesystem::create_directories(folder / "cache");
    training::ObjectiveInputs inputs{.recipe = test.recipe(), .model = test.model(), .tokenizer = test.tokenizer};
    inputs.data = test.recipe().train_data;
    inputs.cache = folder / "cache";
    return evaluate(inputs, {});
}

TEST(Evaluation, TextsHavePerplexityAndBits) {
    const TemporaryFolder folder;
    const std::string text = "größer als ein Fenster, und noch ein wenig mehr davon";
    folder.write("a.txt", text);
    const ObjectiveCase test(
        folder, "{\"model\": {" + small_llama + R"(}, "tokenizer": "characters", "data": {"length": 8}})", "a.txt");
    const Report report = report_of(test, folder);
    ASSERT_TRUE(report.bits.has_value());
    EXPECT_DOUBLE_EQ(report.perplexity(), std::exp(report.result.loss));
    EXPECT_NEAR(report.bits->per_byte * static_cast<double>(text.size()),
                report.bits->per_character * static_cast<double>(text.size() - 2), 1e-9);  // ö and ß are two bytes
    EXPECT_GT(report.bits->per_character, 0.9 * report.result.loss / std::log(2.0));       // a token is a character
    EXPECT_EQ(report.window, 8);
    EXPECT_TRUE(report.choices.empty());
    EXPECT_FALSE(report.bleu.has_value());
    EXPECT_EQ(report.result.answers.total, 0);
}

TEST(Evaluation, ATextShorterThanTheWindowIsReadWhole) {
    const TemporaryFolder folder;
    folder.write("a.txt", "twenty letters or so, and a few more than that");
    const ObjectiveCase test(
        folder, "{\"model\": {" + small_llama + R"(}, "tokenizer": "characters", "data": {"length": 8}})", "a.txt");
    training::Recipe recipe = test.recipe();
    recipe.length = 1024;
    std::filesystem::create_directories(folder / "cache");
    std::vector<std::int64_t> progress;
    folder.write("b.txt", "twenty letters");
    training::ObjectiveInputs inputs{.recipe = recipe, .model = test.model(), .tokenizer = test.tokenizer};
    inputs.data = {(folder / "b.txt").string()};
    inputs.cache = folder / "cache";
    const Report report = evaluate(inputs, {.on_progress = [&](const char*, std::int64_t done, std::int64_t all) {
                                       progress = {done, all};
                                   }});
    EXPECT_EQ(report.result.targets, report.window - 1);
    EXPECT_GE(report.window, 14);
    EXPECT_LE(report.window, 15);  // with an end
    EXPECT_EQ(progress, (std::vector<std::int64_t>{1, 1}));
}

TEST(Evaluation, ClassesHaveAnAccuracyAndMustBeKnown) {
    const TemporaryFolder folder;
    for (const char* name : {"dark", "light"}) {
        std::filesystem::create_directories(folder / (std::string("set/") + name));
        formats::write_png(folder / (std::string("set/") + name + "/a.png"), formats::Image(4, 4));
    }
    const auto with_names = [](const char* names) {
        return text_of(R"({"model": {"model_type": "mlp_classifier", "input_width": 16, "hidden_widths": [5],
            "classes": 2)",
                       names, R"(}, "objective": "classify", "batch": 2})");
    };
    const ObjectiveCase known(folder, with_names(R"(, "id2label": {"0": "dark", "1": "light"})"), "set");
    const Report report = report_of(known, folder);
    EXPECT_EQ(report.result.answers.total, 2);
    EXPECT_FALSE(report.bits || report.bleu);
    const ObjectiveCase unknown(folder, with_names(R"(, "id2label": {"0": "cat", "1": "dog"})"), "set");
    expect_error([&] { report_of(unknown, folder); }, {"dark", "does not know"});
}

TEST(Evaluation, TheRecipeIsTheRunsOrTheModelsDefault) {
    const TemporaryFolder folder;
    folder.write("config.json", "{" + small_llama + R"(, "vocab_size": 20})");
    folder.write("a.txt", "text");
    const std::string model = folder.path().string(), data = (folder / "a.txt").string();
    const training::Recipe plain = eval_recipe(model, {data}, {"batch=3"});
    EXPECT_EQ(plain.objective, "causal");
    EXPECT_EQ(plain.length, 64);  // the context is shorter than the usual window
    EXPECT_EQ(plain.batch, 3);
    std::string longer = "{" + small_llama + R"(, "vocab_size": 20})";
    longer.replace(longer.find("64"), 2, "4096");
    folder.write("long/config.json", longer);
    EXPECT_EQ(eval_recipe((folder / "long").string(), {data}, {}).length, 1024);
    EXPECT_EQ(eval_recipe((folder / "long").string(), {data}, {"data.length=9"}).length, 9);
    folder.write("recipe.json", R"({"objective": "masked", "batch": 5, "steps": 9, "data": {"train": "b.txt",
        "length": 100, "mask": 0.3, "limit": 7}})");
    const training::Recipe of_run = eval_recipe(model, {data}, {});
    EXPECT_EQ(of_run.objective, "masked");
    EXPECT_EQ(of_run.batch, 5);
    EXPECT_EQ(of_run.mask, 0.3);
    EXPECT_EQ(of_run.length, 64);  // the run's was beyond the context
    EXPECT_EQ(of_run.train_data, std::vector<std::string>{data});
    EXPECT_GT(of_run.limit, 7);  // which data a run learned from is not the evaluation's
}

}  // namespace
}  // namespace tessera::evaluation
