// Runs that count: one pass over a text, a folder like any other's.
#include "tessera/training/run/counting.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/models/catalog.h"
#include "tessera/training/recipe/recipe_keys.h"

namespace tessera::training {
namespace {

using testing::expect_error;
using testing::TemporaryFolder;

std::string recipe_text(const TemporaryFolder& folder, const std::string& model, const std::string& more = "") {
    return text_of(R"({"model": )", model, R"(, "tokenizer": "characters", "optimizer": {"name": "count"}, "data":)",
                   R"({"train": [")", (folder / "seen.txt").string(), R"("], "validation": [")",
                   (folder / "held-out.txt").string(), R"("], "length": 32}, "evaluate": {"every": 8})", more, "}");
}

Recipe counting_recipe(const std::string& text) {
    return read_recipe(resolve_recipe(formats::Json::parse(text, "recipe"), {}, "recipe"));
}

class Counting : public ::testing::Test {
   protected:
    Counting() {
        const TemporaryFolder licence;
        std::filesystem::copy_file(testing::source_path("LICENSE"), licence / "text");
        const std::string text = licence.read("text");
        folder_.write("seen.txt", text.substr(0, text.size() * 4 / 5));
        folder_.write("held-out.txt", text.substr(text.size() * 4 / 5));
    }

    SessionResult run(const std::string& recipe, const SessionEvents& events = {}) const {
        return run_session(counting_recipe(recipe), {.folder = folder_ / "run", .overwrite = true}, events);
    }

    TemporaryFolder folder_;
};

const char* const kneser_ney = R"({"model_type": "ngram", "order": 5, "smoothing": "kneser_ney"})";

TEST_F(Counting, MoreTextForetellsBetterAndTheFolderIsAModel) {
    std::vector<double> losses;
    SessionEvents events;
    events.on_validation = [&](std::int64_t, const Evaluation& result) { losses.push_back(result.loss); };
    const SessionResult result = run(recipe_text(folder_, kneser_ney), events);
    // 8 × 32 characters a step, and the end of the text.
    const auto tokens = folder_.read("seen.txt").size() + 1;
    EXPECT_EQ(result.steps, static_cast<std::int64_t>((tokens + 255) / 256));
    ASSERT_GE(losses.size(), 3u);
    EXPECT_LT(losses.back(), losses.front() - 0.1);
    EXPECT_EQ(losses.back(), result.validation_loss);
    EXPECT_LT(result.loss, result.validation_loss);
    for (const char* name : {"config.json", "tokenizer.json", "metrics.jsonl", "recipe.json", "loss.svg"})
        EXPECT_TRUE(std::filesystem::exists(folder_ / text_of("run/", name))) << name;
    const auto model = models::load(folder_ / "run");
    EXPECT_GT(model->config.integer("contexts"), 100);
}

TEST_F(Counting, TheTableCanBeCountedToo) {
    const SessionResult table = run(recipe_text(folder_, R"({"model_type": "ngram", "order": 2, "smoothing": 0.1})"));
    const SessionResult tree =
        run(recipe_text(folder_, R"({"model_type": "ngram", "order": 2, "smoothing": "add_k", "k": 0.1})"));
    EXPECT_NEAR(table.loss, tree.loss, 0.01);  // they differ in what stands before a window's first token
    EXPECT_NEAR(table.validation_loss, tree.validation_loss, 0.05);
}

TEST_F(Counting, WhatCannotBeCountedIsRefused) {
    const char* const other = R"({"model_type": "rnn_lm", "cell": "gru", "hidden_width": 4})";
    expect_error([&] { run(recipe_text(folder_, other)); }, {"optimizer.name", "n-grams"});
    expect_error([&] { run(recipe_text(folder_, kneser_ney, R"(, "save": {"every": 5})")); }, {"save.every"});
    expect_error([&] { run(recipe_text(folder_, kneser_ney, R"(, "objective": "masked")")); }, {"objective"});
    std::string by_gradients = recipe_text(folder_, kneser_ney);
    by_gradients.replace(by_gradients.find("\"count\""), 7, "\"adamw\"");
    expect_error([&] { run(by_gradients); }, {"optimizer.name", "count"});
}

}  // namespace
}  // namespace tessera::training
