// The first steps of the road through the program: counting, attention pooling, translation with its alignment.
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
using testing::TemporaryFolder;

double number_in(const std::string& text, const char* name) {
    const Json json = Json::parse(text, "out");
    return json.find(name)->as_number();
}

TEST(Road, NgramsAreCountedScoredAndGenerateText) {
    const TemporaryFolder folder;
    const std::string text = testing::source_path("LICENSE");
    folder.write("recipe.json", text_of(R"({"model": {"model_type": "ngram", "order": 5, "smoothing": "kneser_ney"},
        "tokenizer": "characters", "optimizer": {"name": "count"}, "data": {"train": [")",
                                        text, R"("]}})"));
    std::filesystem::copy_file(text, folder / "text.txt");
    const std::string recipe = folder / "recipe.json", run = folder / "run", data = folder / "text.txt";
    expect_success({"train", recipe, text_of("data.train=", data), "-o", run});
    const std::string score = expect_success({"score", run, data, "--json"}).out;
    EXPECT_GT(number_in(score, "bits_per_character"), 0.1);
    EXPECT_LT(number_in(score, "bits_per_character"), 2);
    const std::string eval = expect_success({"eval", run, data, "--json"}).out;
    EXPECT_NEAR(number_in(eval, "bits_per_character"), number_in(score, "bits_per_character"), 0.2);
    EXPECT_NE(expect_success({"generate", run, "the terms of", "--max-new", "20"}).out, "");
    EXPECT_NE(expect_success({"inspect", run}).out, "");
    expect_refusal(1, {"train", recipe, text_of("data.train=", data), "optimizer.name=adamw", "-o", run + "2"},
                   {"optimizer.name", "count"});
}

TEST(Road, RegressionDrawsItsKernels) {
    const TemporaryFolder folder;
    const std::string image = folder / "plot.svg";
    const std::string out = expect_success({"regress", "-o", image, "--steps", "20", "--json"}).out;
    const Json found = Json::parse(out, "out");
    EXPECT_EQ(found.find("kernels")->items().size(), 5u);
    EXPECT_TRUE(folder.read("plot.svg").ends_with("</svg>\n"));
    const std::string points = folder.write("points.tsv", "0\t1\n1\t2\n2\t3\n3\t5\n");
    EXPECT_NE(expect_success({"regress", points}).out.find("Epanechnikov"), std::string::npos);
    expect_refusal(1, {"regress", folder.write("bad.tsv", "0\tx\n")}, {"bad.tsv", "line 1"});
    expect_refusal(1, {"regress", folder.write("one.tsv", "0\t1\n")}, {"one.tsv", "3"});
    expect_refusal(1, {"regress", "--width", "0"}, {"--width"});
    expect_refusal(1, {"regress", "--points", "1"}, {"--points"});
    expect_refusal(1, {"regress", folder / "none.tsv"}, {"none.tsv"});
}

TEST(Road, PairsAreLearnedTranslatedAndScored) {
    const TemporaryFolder folder;
    std::string pairs;
    for (int i = 0; i < 40; ++i) {
        const char* const from[] = {"red", "blue", "green", "small"};
        const char* const to[] = {"rot", "blau", "grün", "klein"};
        pairs += text_of("the ", from[i % 4], " house ", from[i / 4 % 4], "\tdas ", to[i % 4], " Haus ", to[i / 4 % 4],
                         "\n");
    }
    const std::string data = folder.write("pairs.tsv", pairs), run = folder / "run", image = folder / "map.svg";
    const std::string recipe = folder.write("recipe.json", text_of(R"({"model": {"model_type": "bahdanau",
        "hidden_width": 24, "decoder_start_token_id": 1, "eos_token_id": 2, "initializer_range": 0.2},
        "tokenizer": "unigram", "vocabulary": 60, "objective": "pairs", "data": {"train": [")",
                                                                   data, R"("], "length": 24}, "steps": 150,
        "optimizer": {"learning_rate": 0.02}})"));
    const auto bleu_of = [&](const std::string& model) {
        return number_in(expect_success({"eval", model, data, "objective=pairs", "--batches", "2", "--json"}).out,
                         "bleu");
    };
    const std::string begun = folder / "begun";
    expect_success({"train", recipe, "-o", begun, "steps=1"});
    EXPECT_LT(bleu_of(begun), 5);
    expect_success({"train", recipe, "-o", run});
    EXPECT_NEAR(bleu_of(run), 100, 1e-6);  // sixteen pairs, all learned by heart
    EXPECT_NE(expect_success({"eval", run, data, "objective=pairs", "--beams", "2"}).out.find("BLEU"),
              std::string::npos);
    expect_success({"translate", run, "the red house blue", "--alignment", image, "--max-new", "12"});
    EXPECT_NE(folder.read("map.svg").find(">house</text>"), std::string::npos);
    expect_refusal(1, {"translate", run, "a", "--alignment", image}, {"map.svg", "--overwrite"});
    expect_refusal(1, {"translate", run, "a", "b", "--alignment", image, "--overwrite"}, {"--alignment", "2"});
    expect_refusal(1, {"eval", run, data, "objective=pairs", "--beams", "0"}, {"--beams"});
}

}  // namespace
}  // namespace tessera
