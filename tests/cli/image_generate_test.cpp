// tessera generate about images, from outside: a tiny model of random weights that is made to say what it shall say.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/program.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/core/error.h"
#include "tessera/formats/image/image.h"
#include "tessera/formats/json.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using formats::Json;
using testing::expect_refusal;
using testing::expect_success;
using testing::golden_path;

const std::string config = R"({"model_type": "paligemma", "image_token_index": 1101, "projection_dim": 16,
    "bos_token_id": 1, "eos_token_id": 2,
    "text_config": {"model_type": "gemma", "vocab_size": 1102, "hidden_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8, "intermediate_size": 20},
    "vision_config": {"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 20,
        "image_size": 16, "patch_size": 8, "vision_use_head": false}})";
const std::string image = golden_path("image-preprocess/picture.png");

class ImageGenerate : public ::testing::Test {
   protected:
    void SetUp() override {
        expect_success({"init", folder.write("config.json", config), model});
        // A tokenizer of 1100 tokens, and one for a place in the image.
        Json tokenizer = Json::read(golden_path("tokenizers/byte-fallback-bpe-llama2/tokenizer.json"));
        Json added = *tokenizer.find("added_tokens");
        added.push_back(Json::object()
                            .set("id", 1100)
                            .set("content", "<loc0256>")
                            .set("single_word", false)
                            .set("lstrip", false)
                            .set("rstrip", false)
                            .set("normalized", false)
                            .set("special", false));
        tokenizer.set("added_tokens", std::move(added));
        tokenizer.write(fs::path(model) / "tokenizer.json");
    }
    Json to_json(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"generate", model, "--json"});
        return Json::parse(expect_success(arguments).out, "standard output");
    }
    // Of weights so large that its answers depend on the image.
    std::string sharp_model() {
        const std::string path = folder / "sharp";
        if (fs::exists(path)) return path;
        const auto set = [](Json json, std::initializer_list<const char*> sections) {
            for (const char* name : sections) json.set(name, Json(*json.find(name)).set("initializer_range", 0.5));
            return json.set("initializer_range", 0.5);
        };
        set(Json::parse(config, "config"), {"text_config", "vision_config"}).write(folder / "sharp.json");
        expect_success({"init", folder / "sharp.json", path});
        fs::copy_file(fs::path(model) / "tokenizer.json", fs::path(path) / "tokenizer.json");
        return path;
    }

    testing::TemporaryFolder folder;
    std::string model = folder / "model";
};

TEST_F(ImageGenerate, CountsTheImagesTokens) {
    // 4 patches, the beginning of the text, the text's tokens and a newline.
    const auto tokens = [&](const std::vector<std::string>& arguments) {
        const Json out = to_json(arguments);
        return out.find("prompt_tokens")->as_integer();
    };
    const std::int64_t one = tokens({"caption en", "--image", image, "--max-new", "2"});
    EXPECT_GT(one, 4 + 2);
    EXPECT_EQ(tokens({"caption en", "--image", image, "--image", image, "--max-new", "2"}), one + 4);
    EXPECT_EQ(tokens({"<image>caption en", "--image", image, "--max-new", "2"}), one);
    EXPECT_LT(tokens({"--image", image, "--max-new", "2"}), one);  // no prompt: to describe it
    const Json two = to_json({"a", "b", "--image", image, "--max-new", "2"});
    EXPECT_EQ(two.find("answers")->items().size(), 2u);
}

TEST_F(ImageGenerate, AChatStaysWithTheImageItWasShown) {
    const std::string conversation =
        text_of("hello\n/image ", image, "\nwhat is it?\nand now?\n/image no.png\n/quit\n");
    const testing::Answer run =
        testing::run_program({"chat", model, "--greedy", "--max-new", "3", "--logit-bias", "1100=100"}, conversation);
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.out, "<loc0256><loc0256><loc0256>\n<loc0256><loc0256><loc0256>\n");
    for (const char* said : {"/image PATH", "90 x 61", "no.png"})
        EXPECT_NE(run.err.find(said), run.err.npos) << said << " in\n" << run.err;
}

// The lines of standard output.
std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

TEST_F(ImageGenerate, AMessageKeepsTheImagesItWasShownWith) {
    const std::string other = golden_path("pictures/alpha.png"), saved = folder / "saved.json";
    const auto chat = [&](const std::string& lines) {
        return testing::run_program({"chat", sharp_model(), "--greedy", "--max-new", "6", "--no-stats"}, lines);
    };
    const std::string begin = text_of("/image ", image, "\ncaption en\n/image ", other, "\ncaption en\n");
    const testing::Answer run = chat(begin + "/undo\n/regenerate\nand now?\n/save " + saved + "\n");
    const std::vector<std::string> lines = lines_of(run.out);
    ASSERT_EQ(lines.size(), 4u) << run.err;
    EXPECT_NE(lines[0], lines[1]);
    EXPECT_EQ(lines[0], lines[2]);
    EXPECT_NE(run.err.find("took back \"caption en\" and 1 image; 1 turn is left"), run.err.npos) << run.err;
    const Json file = Json::read(saved);
    const std::vector<Json>& messages = file.find("messages")->items();
    ASSERT_EQ(messages.size(), 4u);
    const std::vector<Json>& parts = messages[0].find("content")->items();
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[0].find("path")->as_string(), image);
    EXPECT_EQ(parts[1].find("text")->as_string(), "caption en");
    EXPECT_EQ(messages[2].find("content")->as_string(), "and now?");

    const testing::Answer loaded = chat("/load " + saved + "\n/undo\nand now?\n/undo\n/regenerate\n");
    const std::vector<std::string> again = lines_of(loaded.out);
    ASSERT_EQ(again.size(), 2u) << loaded.err;
    EXPECT_EQ(again[0], lines[3]);
    EXPECT_EQ(again[1], lines[0]);
    EXPECT_NE(loaded.err.find("loaded 4 messages and 1 image"), loaded.err.npos) << loaded.err;
    // What is taken back takes its images along.
    const testing::Answer none = chat("/image " + image + "\ncaption en\n/undo\ncaption en\n");
    EXPECT_NE(none.err.find("/image PATH"), none.err.npos) << none.err;
}

TEST_F(ImageGenerate, LoadsRelativePathsAndFilesOfOlderKinds) {
    fs::copy_file(image, folder / "cat.png");
    const auto load = [&](const std::string& json) {
        const std::string file = folder.write("conversation.json", json);
        const testing::Answer run = testing::run_program(
            {"chat", sharp_model(), "--greedy", "--max-new", "6", "--no-stats"}, "/load " + file + "\n/regenerate\n");
        EXPECT_NE(run.err.find("and 1 image"), run.err.npos) << run.err;
        EXPECT_EQ(lines_of(run.out).size(), 1u) << run.err;
        return run.out;
    };
    const std::string beside = load(R"({"messages": [{"role": "user", "content": [
        {"type": "image", "path": "cat.png"}, {"type": "text", "text": "caption en"}]}]})");
    EXPECT_EQ(load(R"({"messages": [{"role": "user", "content": "caption en"}], "images": ["cat.png"]})"), beside);
    EXPECT_EQ(load(text_of(R"({"messages": [{"role": "user", "content": "caption en"}], "images": [")", image, "\"]}")),
              beside);
}

TEST_F(ImageGenerate, DrawsOverAFileOnlyWhereToldToAndBehindTheAnswer) {
    const std::string drawn = folder / "out.png";
    std::vector<std::string> words{"generate", model, "detect", "--image", image, "--max-new", "2", "--draw", drawn};
    std::string script = "\"$TESSERA\"";
    for (const std::string& word : words) script += " '" + word + "'";
    EXPECT_EQ(testing::run_in_shell(text_of(script, " >'", (folder / "both").string(), "' 2>&1")), 0);
    const std::string both = folder.read("both");
    EXPECT_NE(both.find("\n" + drawn + ": "), both.npos) << both;
    expect_refusal(1, words, {"--draw", drawn, "--overwrite"});
    words.emplace_back("--overwrite");
    expect_success(words);
    expect_refusal(1, {"generate", model, "a", "--image", image, "--overwrite"}, {"--overwrite", "--draw"});
}

TEST_F(ImageGenerate, BoxesAreListedAndDrawn) {
    const std::string drawn = folder / "out.png";
    const Json out =
        to_json({"detect cat", "--image", image, "--max-new", "4", "--logit-bias", "1100=100", "--draw", drawn});
    const Json& answer = out.find("answers")->items()[0];
    EXPECT_EQ(answer.find("text")->as_string(), "<loc0256><loc0256><loc0256><loc0256>");
    const std::vector<Json> boxes = answer.find("detections")->items();
    ASSERT_EQ(boxes.size(), 1u);
    EXPECT_EQ(boxes[0].find("left")->as_integer(), 23);  // a quarter of 90, rounded
    EXPECT_EQ(boxes[0].find("top")->as_integer(), 15);
    const formats::Image before = formats::read_image(image), after = formats::read_image(drawn);
    EXPECT_EQ(after.width, before.width);
    EXPECT_EQ(after.height, before.height);
    EXPECT_EQ(formats::read_image(image), before);  // the image itself stays as it is
}

TEST_F(ImageGenerate, RefusesInOneLine) {
    expect_refusal(1, {"generate", model, "a", "--draw", folder / "out.png"}, {"--draw", "--image"});
    expect_refusal(1, {"generate", model, "a"}, {"an image", "--image"});
    expect_refusal(1, {"generate", model, "a", "--image", folder / "none.png"}, {"none.png"});
    expect_refusal(1, {"generate", model, "a", "--image", image, "--draw", folder / "no/out.png"}, {"--draw", "no"});
    expect_refusal(1, {"generate", model, "<image><image>", "--image", image}, {"2 images"});
    expect_refusal(2, {"generate", model, "--ids", "1", "--image", image}, {"--image"});
    expect_refusal(1, {"generate", golden_path("vit"), "a", "--image", image}, {"vit"});
    for (const char* name : {"out.webp", "out"})
        expect_refusal(1, {"generate", model, "a", "--image", image, "--draw", folder / name},
                       {name, ".png, .jpg or .jpeg"});
    EXPECT_FALSE(fs::exists(folder / "out.png"));
}

TEST_F(ImageGenerate, DrawsAJpegWhereTheNameSaysSo) {
    const std::string drawn = folder / "out.jpg";
    to_json({"detect cat", "--image", image, "--max-new", "1", "--draw", drawn});
    EXPECT_TRUE(folder.read("out.jpg").starts_with("\xff\xd8\xff"));
}

}  // namespace
}  // namespace tessera
