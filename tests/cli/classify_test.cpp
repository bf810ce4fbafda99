// tessera classify from outside.
#include <gtest/gtest.h>

#include "cli/program.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/formats/json.h"

namespace tessera {
namespace {

using formats::Json;
using testing::expect_refusal;
using testing::expect_success;
using testing::golden_path;

const std::string png = golden_path("image-preprocess/picture.png"), jpeg = golden_path("image-preprocess/picture.jpg");

TEST(Classify, NamesTheClassesOfEachImage) {
    const std::string text = expect_success({"classify", golden_path("vit"), "--image", png, "--image", jpeg}).out;
    EXPECT_NE(text.find("picture.png\n"), text.npos);
    EXPECT_NE(text.find("picture.jpg\n"), text.npos);
    EXPECT_NE(text.find("LABEL_1"), text.npos);
    EXPECT_EQ(expect_success({"classify", golden_path("vit"), png, jpeg}).out, text);
    EXPECT_EQ(expect_success({"classify", golden_path("vit"), "--image", png, jpeg}).out, text);
    const testing::Answer run =
        expect_success({"classify", golden_path("vit"), "--image", png, "--image", jpeg, "--json", "--top", "0"});
    const Json answers = Json::parse(run.out, "standard output");
    ASSERT_EQ(answers.items().size(), 2u);
    for (const Json& answer : answers.items()) {
        double sum = 0;
        ASSERT_EQ(answer.find("labels")->items().size(), 10u);
        for (const Json& label : answer.find("labels")->items()) sum += label.find("probability")->as_number();
        EXPECT_NEAR(sum, 1, 1e-6);
    }
    EXPECT_EQ(answers.items()[0].find("image")->as_string(), png);
    EXPECT_EQ(Json::parse(expect_success({"classify", golden_path("vit"), "--image", png, "--json", "--top", "3"}).out,
                          "standard output")
                  .items()[0]
                  .find("labels")
                  ->items()
                  .size(),
              3u);
}

TEST(Classify, RefusesInOneLine) {
    const testing::TemporaryFolder folder;
    const std::string vit = golden_path("vit");
    expect_refusal(2, {"classify", vit}, {"--image"});
    expect_refusal(2, {"classify"}, {"tessera classify --help"});
    expect_refusal(1, {"classify", vit, "--image", folder / "none.png"}, {"none.png"});
    expect_refusal(1, {"classify", vit, "--image", folder.path()}, {folder.path()});
    expect_refusal(1, {"classify", vit, "--image", folder.write("a.png", "text")}, {"a.png", "not an image"});
    expect_refusal(1, {"classify", vit, "--image", png, "--top", "-1"}, {"--top", "-1"});
    expect_refusal(1, {"classify", vit, "--image", png, "--labels", "a,,b"}, {"--labels", "a,,b"});
    expect_refusal(1, {"classify", vit, "--image", png, "--labels", "a"}, {"labels"});
    expect_refusal(1, {"classify", golden_path("siglip"), "--image", png}, {"labels"});
    expect_refusal(1, {"classify", golden_path("llama"), "--image", png}, {"images"});
}

// A classifier of texts that has learned to tell two letters apart.
class ClassifyTexts : public ::testing::Test {
   protected:
    ClassifyTexts() {
        std::string lines;
        for (int i = 1; i < 12; ++i)
            lines += std::string(static_cast<std::size_t>(i), 'a') + "\tfirst\n" +
                     std::string(static_cast<std::size_t>(i), 'b') + "\tsecond\n";
        folder_.write("train.tsv", lines);
        folder_.write("recipe.json", R"({"model": {"model_type": "bert", "hidden_size": 16, "num_hidden_layers": 1,
            "num_attention_heads": 2, "intermediate_size": 24, "max_position_embeddings": 12, "num_labels": 2,
            "architectures": ["BertForSequenceClassification"], "hidden_dropout_prob": 0, "initializer_range": 0.1},
            "tokenizer": "characters", "objective": "labels", "batch": 8, "steps": 40, "data": {"length": 12},
            "optimizer": {"learning_rate": 0.01}})");
        const std::string data = folder_ / "train.tsv";
        answer_ = expect_success({"train", folder_ / "recipe.json", text_of("data.train=", data),
                                  text_of("data.validation=", data), "-o", model()});
    }
    std::string model() const { return folder_ / "model"; }
    static Json parsed(const testing::Answer& answer) { return Json::parse(answer.out, "standard output"); }
    static std::string first_label(const Json& answer) {
        return answer.find("labels")->items()[0].find("label")->as_string();
    }

    testing::TemporaryFolder folder_;
    testing::Answer answer_;
};

TEST_F(ClassifyTexts, TextsOfTheCommandLineAndOfStandardInput) {
    EXPECT_NE(answer_.out.find("accuracy 100.00 % (22 of 22)"), std::string::npos) << answer_.out;
    EXPECT_NE(answer_.out.find("tessera classify"), std::string::npos);
    EXPECT_NE(folder_.read("model/metrics.jsonl").find("\"validation_accuracy\":1"), std::string::npos);
    const testing::Answer given = expect_success({"classify", model(), "aaaa", "bb", "--json"});
    const Json answers = parsed(given);
    ASSERT_EQ(answers.items().size(), 2u);
    EXPECT_EQ(answers.items()[1].find("text")->as_string(), "bb");
    EXPECT_EQ(first_label(answers.items()[0]), "first");
    EXPECT_EQ(first_label(answers.items()[1]), "second");
    double sum = 0;
    for (const Json& label : answers.items()[0].find("labels")->items()) sum += label.find("probability")->as_number();
    EXPECT_NEAR(sum, 1, 1e-6);
    EXPECT_EQ(testing::run_program({"classify", model(), "-", "--json"}, "aaaa\nbb\n").out, given.out);
    const std::string text = expect_success({"classify", model(), "bb", "--top", "1"}).out;
    EXPECT_TRUE(text.starts_with("bb\n")) << text;
    EXPECT_NE(text.find("%  second\n"), text.npos);
    EXPECT_EQ(text.find("first"), text.npos);
    // Longer than the model's positions, and more of them than one batch.
    std::string many;
    for (int i = 0; i < 70; ++i) many += std::string(30, i % 2 == 0 ? 'a' : 'b') + "\n";
    const Json all = parsed(testing::run_program({"classify", model(), "-", "--json"}, many));
    ASSERT_EQ(all.items().size(), 70u);
    for (std::size_t i = 0; i < 70; ++i) {
        EXPECT_EQ(first_label(all.items()[i]), i % 2 == 0 ? "first" : "second");
        EXPECT_TRUE(all.items()[i].find("truncated")->as_boolean());
        EXPECT_EQ(all.items()[i].find("tokens")->as_integer(), 12);
    }
    EXPECT_FALSE(answers.items()[0].find("truncated")->as_boolean());
    EXPECT_EQ(expect_success({"classify", model(), std::string(30, 'a'), "bb"}).err,
              "tessera: 1 of 2 texts was cut to the 12 tokens that the model reads\n");
}

// What eval counts is what classify says.
TEST_F(ClassifyTexts, AccuracyIsTheShareOfRightAnswers) {
    folder_.write("mixed.tsv", "aaa\tfirst\nbbb\tfirst\nbbbb\tsecond\n");
    const Json result = parsed(expect_success({"eval", model(), folder_ / "mixed.tsv", "--json"}));
    EXPECT_EQ(result.find("right")->as_integer(), 2);
    EXPECT_EQ(result.find("answers")->as_integer(), 3);
    EXPECT_NEAR(result.find("accuracy")->as_number(), 2.0 / 3, 1e-9);
    EXPECT_NEAR(result.find("error_rate")->as_number(), 1.0 / 3, 1e-9);
    EXPECT_NE(expect_success({"eval", model(), folder_ / "mixed.tsv"})
                  .out.find("accuracy 66.67 %, error rate 33.33 % "
                            "(2 of 3 right)"),
              std::string::npos);
    const Json one = parsed(expect_success({"eval", model(), folder_ / "mixed.tsv", "data.limit=1", "--json"}));
    EXPECT_EQ(one.find("answers")->as_integer(), 1);
    folder_.write("other.tsv", "aaa\tthird\n");
    expect_refusal(1, {"eval", model(), folder_ / "other.tsv"}, {"third"});
}

TEST_F(ClassifyTexts, WhatIsNoTextIsRefused) {
    expect_refusal(2, {"classify", model()}, {"TEXT"});
    expect_refusal(1, {"classify", model(), ""}, {"text 1", "no tokens"});
    expect_refusal(1, {"classify", model(), "-"}, {"standard input"});
    expect_refusal(1, {"classify", model(), "a", "--labels", "x,y"}, {"--labels"});
    expect_refusal(1, {"classify", model(), "--image", png}, {"images"});
    expect_refusal(1, {"classify", golden_path("bert-mlm"), "a"}, {"ForSequenceClassification"});
    expect_refusal(1, {"classify", folder_ / "nowhere", "a"}, {"nowhere"});
}

}  // namespace
}  // namespace tessera
