// tessera scenes, from outside: what it writes is what the set holds.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/program.h"
#include "support/scene_set.h"
#include "tessera/formats/json.h"
#include "tessera/training/objectives/image_examples.h"

namespace tessera::testing {
namespace {

TEST(ScenesCommand, PreviewWritesASheet) {
    const SceneSet set;
    const std::string file = set.file(everything).string(), sheet = (set.folder / "sheet.png").string();
    const Answer answer = expect_success({"scenes", "preview", file, "-o", sheet, "--count", "5", "--from", "10"});
    EXPECT_NE(answer.out.find("5 scenes"), std::string::npos);
    const formats::Image image = formats::read_image(sheet);
    EXPECT_GT(image.width, 5 * 224);
    EXPECT_GT(image.height, 224);
    const Answer json =
        expect_success({"scenes", "preview", file, "-o", sheet, "--count", "2", "--json", "--overwrite"});
    const formats::Json said = formats::Json::parse(json.out, "out");
    EXPECT_EQ(said.find("scenes")->as_integer(), 2);
}

TEST(ScenesCommand, AWrongNameIsRefused) { expect_refusal(2, {"scenes", "prevew"}, {"prevew", "preview"}); }

TEST(ScenesCommand, WhatIsWrittenIsTheSet) {
    const SceneSet set;
    const std::string file = set.file(everything).string(), out = (set.folder / "out").string();
    expect_success({"scenes", "write", file, "-o", out, "--count", "9", "--from", "3"});
    const auto written = training::open_image_examples({out + "/scenes.jsonl"});
    const scenes::Scenes scenes{std::filesystem::path(file)};
    ASSERT_EQ(written->size(), 9);
    for (std::int64_t i = 0; i < 9; ++i) {
        const training::ImageExample example = written->at(i);
        const scenes::Scene scene = scenes.at(i + 3);
        EXPECT_EQ(example.image, scene.image);
        EXPECT_EQ(example.prefix, scene.prefix);
        EXPECT_EQ(example.suffix, scene.suffix);
    }
}

TEST(ScenesCommand, TextsStandOneALine) {
    const SceneSet set;
    const std::string file = set.file(everything).string();
    const scenes::Scenes scenes{std::filesystem::path(file)};
    std::istringstream lines(expect_success({"scenes", "texts", file, "--from", "395"}).out);
    std::int64_t index = 395;
    for (std::string line; std::getline(lines, line); ++index) {
        const scenes::Scene scene = scenes.texts_at(index);
        EXPECT_EQ(line, scene.prefix + "\t" + scene.suffix);
    }
    EXPECT_EQ(index, 400);
    const Answer json = expect_success({"scenes", "texts", file, "--count", "1", "--json"});
    const formats::Json first = formats::Json::parse(json.out, "out");
    EXPECT_EQ(first.find("suffix")->as_string(), scenes.texts_at(0).suffix);
}

TEST(ScenesCommand, RefusalsAreOneClearLine) {
    const SceneSet set;
    const std::string file = set.file(everything).string(), out = (set.folder / "out.png").string();
    expect_refusal(1, {"scenes", "preview", set.folder.path().string() + "/none.scenes.json", "-o", out},
                   {"none.scenes.json"});
    expect_refusal(1, {"scenes", "preview", file, "-o", out, "--count", "0"}, {"--count", "0"});
    expect_refusal(1, {"scenes", "preview", file, "-o", out, "--from", "400"}, {"--from", "400"});
    expect_refusal(1, {"scenes", "texts", file, "--count", "-3"}, {"--count", "-3"});
    expect_refusal(1, {"scenes", "texts", set.file(R"("style": [])", "bad.scenes.json").string()}, {"style", "styles"});
    expect_refusal(1, {"scenes", "preview", file, "-o", "/nowhere/at/all.png"}, {"/nowhere"});
    expect_refusal(2, {"scenes", "write", file}, {"-o DIR"});
    EXPECT_EQ(run_program({"scenes"}).status, 2);
    EXPECT_EQ(run_program({"scenes", "dance"}).status, 2);
    EXPECT_EQ(run_program({"scenes", "--help"}).status, 0);
    for (const char* command : {"preview", "write", "texts"})
        EXPECT_NE(expect_success({"scenes", command, "--help"}).out.find(std::string("tessera scenes ") + command),
                  std::string::npos);
}

}  // namespace
}  // namespace tessera::testing
