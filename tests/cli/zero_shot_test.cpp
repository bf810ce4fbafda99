// Images and texts in one space, through the program: learned, evaluated, and used to classify.
#include <gtest/gtest.h>

#include "cli/program.h"
#include "support/temporary_folder.h"
#include "tessera/formats/image/image.h"
#include "tessera/formats/json.h"

namespace tessera {
namespace {

using formats::Json;
using testing::expect_success;

formats::Image plain(int red, int green, int blue) {
    formats::Image image(8, 8);
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
        image.pixels[i] = static_cast<std::uint8_t>(i % 3 == 0 ? red : i % 3 == 1 ? green : blue);
    return image;
}

// Four colours, and the same a little darker: a style that is not learned from.
TEST(ZeroShot, FourColoursAreToldApart) {
    const testing::TemporaryFolder folder;
    const std::pair<const char*, std::array<int, 3>> colours[] = {
        {"red", {255, 0, 0}}, {"green", {0, 255, 0}}, {"blue", {0, 0, 255}}, {"white", {255, 255, 255}}};
    std::string bright, dark;
    for (const auto& [name, value] : colours) {
        const std::string first = text_of("bright-", name, ".png"), second = text_of("dark-", name, ".png");
        formats::write_png(folder / first, plain(value[0], value[1], value[2]));
        formats::write_png(folder / second, plain(value[0] * 4 / 5, value[1] * 4 / 5, value[2] * 4 / 5));
        bright += text_of(R"({"image": ")", first, R"(", "text": ")", name, "\"}\n");
        dark += text_of(R"({"image": ")", second, R"(", "text": ")", name, "\"}\n");
    }
    folder.write("bright.jsonl", bright);
    folder.write("dark.jsonl", dark);
    folder.write("recipe.json", text_of(R"({"model": {"model_type": "siglip", "initializer_range": 0.2,
        "text_config": {"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 24,
            "vocab_size": 60, "max_position_embeddings": 8},
        "vision_config": {"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 24,
            "image_size": 8, "patch_size": 4}}, "tokenizer": "characters", "objective": "contrastive",
        "batch": 4, "steps": 120, "optimizer": {"learning_rate": 0.01}, "data": {"train": [")",
                                        (folder / "bright.jsonl").string(), R"("]}})"));
    const std::string run = folder / "run";
    expect_success({"train", folder / "recipe.json", "-o", run});
    const Json result = Json::parse(
        expect_success({"eval", run, folder / "dark.jsonl", "objective=contrastive", "--json"}).out, "eval");
    const std::vector<Json>& choices = result.find("zero_shot")->items();
    ASSERT_EQ(choices.size(), 1u);  // there are no ten texts
    EXPECT_EQ(choices[0].find("candidates")->as_integer(), 4);
    EXPECT_EQ(choices[0].find("chance")->as_number(), 0.25);
    EXPECT_EQ(choices[0].find("accuracy")->as_number(), 1);
    EXPECT_NE(expect_success({"eval", run, folder / "dark.jsonl", "objective=contrastive"}).out.find("100.00 %"),
              std::string::npos);
    for (const char* name : {"red", "white"}) {
        const Json answer =
            Json::parse(expect_success({"classify", run, "--image", folder / text_of("dark-", name, ".png"), "--labels",
                                        "blue,green,red,white", "--template", "{}", "--json"})
                            .out,
                        "classify");
        EXPECT_EQ(answer.items()[0].find("labels")->items()[0].find("label")->as_string(), name);
    }
}

}  // namespace
}  // namespace tessera
