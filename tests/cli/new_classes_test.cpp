// A checkpoint learns classes of one's own: `tessera finetune` on folders of images and on labelled texts, in full
// and by adapters, and what is left is asked by `tessera classify`.
#include <gtest/gtest.h>

#include "cli/program.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/formats/image/image.h"
#include "tessera/formats/json.h"

namespace tessera {
namespace {

using formats::Json;
using testing::expect_success;
using testing::golden_path;

class NewClasses : public ::testing::Test {
   protected:
    void SetUp() override {
        for (int i = 0; i < 4; ++i) {
            paint(text_of("images/red/", i, ".png"), 255, 20 * i, 0);
            paint(text_of("images/blue/", i, ".png"), 0, 20 * i, 255);
        }
    }
    void paint(const std::string& name, int red, int green, int blue) {
        std::filesystem::create_directories((folder_ / name).parent_path());
        formats::Image image(16, 16);
        for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
            image.pixels[i] = static_cast<std::uint8_t>(red);
            image.pixels[i + 1] = static_cast<std::uint8_t>(green);
            image.pixels[i + 2] = static_cast<std::uint8_t>(blue);
        }
        formats::write_png(folder_ / name, image);
    }
    std::string best(const std::string& model, const std::string& input) const {
        const Json answer = Json::parse(expect_success({"classify", folder_ / model, input, "--json"}).out, "classify");
        EXPECT_EQ(answer.items()[0].find("labels")->items().size(), 2u) << model;
        return answer.items()[0].find("labels")->items()[0].find("label")->as_string();
    }
    testing::TemporaryFolder folder_;
};

TEST_F(NewClasses, ABrokenImageIsFoundBeforeTraining) {
    paint("held/red/1.png", 255, 0, 0);
    paint("held/blue/1.png", 0, 0, 255);
    const std::string whole = folder_.read("held/blue/1.png");
    folder_.write("held/blue/1.png", whole.substr(0, whole.size() - 20));
    const testing::Answer answer =
        testing::run_program({"finetune", golden_path("vit"), folder_ / "images", "--steps", "1000000",
                              "data.validation=" + (folder_ / "held").string(), "-o", folder_ / "out"});
    EXPECT_EQ(answer.status, 1);
    EXPECT_NE(answer.err.find("held/blue/1.png: PNG"), std::string::npos) << answer.err;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
    std::filesystem::create_directories(folder_ / "images/green");
    testing::expect_refusal(1, {"finetune", golden_path("vit"), folder_ / "images", "-o", folder_ / "out"},
                            {"images/green", "would count as a class"});
}

TEST_F(NewClasses, OfImages) {
    const std::vector<std::string> finetune{
        "finetune", golden_path("vit"), folder_ / "images", "--steps", "30", "optimizer.learning_rate=3e-3"};
    for (const bool by_adapters : {false, true}) {
        const std::string out = by_adapters ? "adapters" : "whole";
        std::vector<std::string> command = finetune;
        if (by_adapters) command.insert(command.end(), {"--lora", "r=4"});
        command.insert(command.end(), {"-o", folder_ / out});
        const testing::Answer said = expect_success(command);
        EXPECT_NE((said.out + said.err).find("a new head for 2 classes: blue, red"), std::string::npos);
        EXPECT_EQ(best(out, folder_ / "images/red/1.png"), "red");
        EXPECT_EQ(best(out, folder_ / "images/blue/2.png"), "blue");
        const Json figures =
            Json::parse(expect_success({"eval", folder_ / out, folder_ / "images", "--json"}).out, "eval");
        EXPECT_EQ(figures.find("accuracy")->as_number(), 1);
    }
    expect_success({"merge", folder_ / "adapters", "-o", folder_ / "merged"});
    EXPECT_EQ(best("merged", folder_ / "images/red/1.png"), "red");
    EXPECT_EQ(best("merged", folder_ / "images/blue/2.png"), "blue");
}

// A configuration that does not count its classes gets those of the data; one that counts others is refused.
TEST_F(NewClasses, OfARecipe) {
    const auto train = [&](const std::string& more) {
        folder_.write("recipe.json", text_of(R"({"model": {"model_type": "vit", "image_size": 16, "patch_size": 8,
            "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2)",
                                             more, R"(}, "objective": "classify", "data": {"train": "images"},
            "batch": 8, "steps": 30, "optimizer": {"learning_rate": 0.02}})"));
        return std::vector<std::string>{"train", folder_ / "recipe.json", "-o", folder_ / "vit", "--overwrite"};
    };
    paint("images/green/1.png", 0, 255, 0);
    expect_success(train(""));
    const Json config = Json::read(folder_ / "vit/config.json");
    EXPECT_EQ(config.find("id2label")->dump(0), R"({"0":"blue","1":"green","2":"red"})");
    expect_success(train(R"(, "num_labels": 3)"));
    testing::expect_refusal(1, train(R"(, "num_labels": 2)"), {"model.num_labels", "2 classes", "3: blue, green, red"});
    testing::expect_refusal(1, train(R"(, "num_labels": 10)"), {"model.num_labels", "10 classes", "3: blue"});
    testing::expect_refusal(1, train(R"(, "id2label": {"0": "a", "1": "b", "2": "c"})"),
                            {"model.id2label", "3 classes", "others: blue, green, red"});
}

// An encoder that has only filled gaps so far: texts with labels make a classifier of it.
TEST_F(NewClasses, OfTexts) {
    const std::string labelled = folder_.write("labels.tsv", "aaaa\tfirst\nbbbb\tsecond\naaab\tfirst\nbbba\tsecond\n");
    for (const char* how : {"", "r=4"}) {
        std::vector<std::string> command{
            "finetune", golden_path("bert-mlm"),        labelled, "tokenizer=characters",         "--steps",
            "40",       "optimizer.learning_rate=3e-3", "-o",     folder_ / text_of("texts", how)};
        if (*how) command.insert(command.end(), {"--lora", how});
        expect_success(command);
        EXPECT_EQ(best(text_of("texts", how), "aaaa"), "first") << how;
        EXPECT_EQ(best(text_of("texts", how), "bbbb"), "second") << how;
    }
    // Its classes are what goes on with: the head stays.
    const testing::Answer again =
        expect_success({"finetune", folder_ / "texts", labelled, "--steps", "1", "-o", folder_ / "again"});
    EXPECT_EQ((again.out + again.err).find("new head"), std::string::npos);
    EXPECT_EQ(best("again", "aaaa"), "first");
}

}  // namespace
}  // namespace tessera
