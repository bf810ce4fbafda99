// tessera compare: miniature recipes trained and put side by side.
#include <gtest/gtest.h>

#include <cmath>

#include "cli/program.h"
#include "support/temporary_folder.h"
#include "tessera/formats/image/image.h"
#include "tessera/formats/json.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using formats::Json;
using testing::expect_refusal;
using testing::expect_success;

class Compare : public ::testing::Test {
   protected:
    Compare() {
        std::string text;
        for (int i = 0; i < 60; ++i) text += text_of("Line ", i, " of a small book, naïvely written.\n");
        folder_.write("book.txt", text);
        folder_.write("other.txt", text);
        write("full.quick", R"({"model_type": "llama", "num_key_value_heads": 4, )");
        write("shared", R"({"model_type": "llama", "num_key_value_heads": 1, )");
        write("window", R"({"model_type": "mistral", "num_key_value_heads": 4, "sliding_window": 8, )");
    }

    void write(const std::string& name, const std::string& model, const std::string& more = "") const {
        folder_.write(name + ".json",
                      text_of(R"({"model": )", model,
                              R"("hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
            "intermediate_size": 24, "max_position_embeddings": 2048}, "tokenizer": "characters", "data": {"train": [")",
                              at("book.txt"), R"("], "validation": [")", at("book.txt"),
                              R"("], "length": 16}, "batch": 2, "steps": 6, "evaluate": {"every": 3})", more, "}"));
    }

    std::string at(const std::string& name) const { return folder_ / name; }

    std::vector<std::string> words(std::vector<std::string> more) const {
        more.insert(more.begin(), "compare");
        more.insert(more.end(), {"-o", at("out"), "--context", "40"});
        return more;
    }

    Json run(std::vector<std::string> more) const {
        more.push_back("--json");
        return Json::parse(expect_success(words(std::move(more))).out, "standard output");
    }

    static double number(const Json& run, const char* key) {
        const Json* value = run.find(key);
        EXPECT_NE(value, nullptr) << key;
        return value ? value->as_number() : 0;
    }

    testing::TemporaryFolder folder_;
};

TEST_F(Compare, CostsAndLossesOfEachRun) {
    const Json all = run({at("full.quick.json"), at("shared.json"), at("window.json"), "steps=4"});
    const std::vector<Json>& runs = all.find("runs")->items();
    ASSERT_EQ(runs.size(), 3u);
    EXPECT_EQ(runs[0].find("name")->as_string(), "full");
    for (const Json& one : runs) {
        EXPECT_EQ(number(one, "steps"), 4);
        EXPECT_GT(number(one, "training_units_per_second"), 0);
        EXPECT_GT(number(one, "decoded_tokens_per_second"), 0);
        EXPECT_EQ(number(one, "active_parameters"), number(one, "parameters"));
        EXPECT_EQ(number(one, "context"), 40);
        EXPECT_EQ(number(one, "training_loss_steps"), 4);
    }
    // Two layers of keys and values of four bytes each: width 16, one head of 4, and a ring of the last 8.
    EXPECT_EQ(number(runs[0], "cache_bytes_per_token"), 2 * 2 * 16 * 4);
    EXPECT_EQ(number(runs[1], "cache_bytes_per_token"), 2 * 2 * 4 * 4);
    EXPECT_EQ(number(runs[0], "cache_bytes"), 40 * 2 * 2 * 16 * 4);
    EXPECT_EQ(number(runs[1], "cache_bytes"), 40 * 2 * 2 * 4 * 4);
    EXPECT_LT(number(runs[2], "cache_bytes"), 40 * 2 * 2 * 16 * 4);
    EXPECT_EQ(number(runs[0], "parameters") - number(runs[1], "parameters"), 2 * 2 * 12 * 16);
    EXPECT_EQ(folder_.read("out/comparison.json"), all.dump() + "\n");
    const std::string image = folder_.read("out/curves.svg"), table = folder_.read("out/comparison.md");
    EXPECT_NE(table.find("training loss (last 4 steps)"), table.npos);
    for (const char* name : {"full", "shared", "window"}) {
        EXPECT_NE(image.find(name), image.npos);
        EXPECT_NE(table.find(name), table.npos);
    }
    EXPECT_TRUE(image.ends_with("</svg>\n"));
    EXPECT_EQ(table.find("active"), table.npos);  // all are
    EXPECT_TRUE(fs::exists(at("out/full/model.safetensors")));
}

// One token a character, and one more that ends the text.
TEST_F(Compare, BitsAreCountedByCharacters) {
    const Json all = run({at("shared.json")});
    const Json& one = all.find("runs")->items()[0];
    const std::string text = folder_.read("book.txt");
    const double characters = static_cast<double>(text.size()) - 60;  // ï has two bytes
    EXPECT_NEAR(number(one, "bits_per_character"),
                number(one, "validation_loss") / std::log(2.0) * (characters + 1) / characters, 1e-9);
}

// A classifier continues no texts, so nothing is said of caches and characters.
TEST_F(Compare, AccuracyOfClassifiers) {
    for (const auto& [name, colour] : {std::pair{"black", 0}, std::pair{"white", 255}}) {
        formats::Image image(4, 4);
        std::fill(image.pixels.begin(), image.pixels.end(), static_cast<std::uint8_t>(colour));
        fs::create_directories(folder_ / text_of("set/", name));
        formats::write_png(folder_ / text_of("set/", name, "/1.png"), image);
    }
    for (const char* width : {"3", "5"})
        folder_.write(text_of("width-", width, ".json"),
                      text_of(R"({"model": {"model_type": "mlp_classifier", "input_width": 16, "hidden_widths": [)",
                              width, R"(], "classes": 2}, "objective": "classify", "batch": 2, "steps": 60,
            "optimizer": {"learning_rate": 0.05}, "data": {"train": [")",
                              at("set"), R"("], "validation": [")", at("set"), R"("]}})"));
    const Json all = run({at("width-3.json"), at("width-5.json")});
    for (const Json& one : all.find("runs")->items()) {
        EXPECT_EQ(number(one, "accuracy"), 1);
        EXPECT_EQ(one.find("bits_per_character"), nullptr);
        EXPECT_EQ(one.find("cache_bytes"), nullptr);
    }
    const std::string table = folder_.read("out/comparison.md");
    EXPECT_NE(table.find("100.00 %"), table.npos);
    EXPECT_EQ(table.find("cache"), table.npos);
}

TEST_F(Compare, RunsThatAreOverAreNotTrainedAgain) {
    const Json first = run({at("full.quick.json"), at("shared.json")});
    const auto written = fs::last_write_time(at("out/full/model.safetensors"));
    const Json again = run({at("full.quick.json"), at("shared.json"), "--resume"});
    EXPECT_EQ(fs::last_write_time(at("out/full/model.safetensors")), written);
    const Json folders = run({at("out/full"), at("out/shared/")});
    EXPECT_EQ(fs::last_write_time(at("out/full/model.safetensors")), written);
    for (const Json* other : {&again, &folders})
        for (std::size_t i = 0; i < 2; ++i)
            for (const char* key : {"training_loss", "validation_loss", "bits_per_character", "parameters"})
                EXPECT_EQ(number(other->find("runs")->items()[i], key), number(first.find("runs")->items()[i], key));
    expect_refusal(1, words({at("full.quick.json"), "--resume", "steps=7"}), {"out/full", "nothing to go on from"});
}

TEST_F(Compare, WhatCannotBeComparedIsRefusedBeforeAnythingIsTrained) {
    write("elsewhere", R"({"model_type": "llama", )", R"(, "objective": "masked")");
    const std::string good = at("full.quick.json");
    expect_refusal(1, words({good, at("elsewhere.json")}), {"masked", "causal"});
    expect_refusal(1, words({good, good}), {"two", "full"});
    expect_refusal(1, words({good, at("nowhere.json")}), {"nowhere.json"});
    expect_refusal(1, words({good, "stepps=3"}), {"steps"});
    expect_refusal(1, words({"steps=3"}), {"RECIPE"});
    expect_refusal(1, words({good, "data.train=" + at("gone.txt")}), {"gone.txt"});
    expect_refusal(1, {"compare", good, "-o", at("out"), "--context", "0"}, {"--context"});
    expect_refusal(1, {"compare", at(""), "-o", at("out")}, {"recipe.json"});
    expect_refusal(2, {"compare", good}, {"-o"});
    expect_refusal(2, {"compare", "-o", at("out")}, {"RECIPE"});
    EXPECT_FALSE(fs::exists(at("out")));
}

}  // namespace
}  // namespace tessera
