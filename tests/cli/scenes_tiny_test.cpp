// The model that comes along, from its folder to its words: tokenizer, image processor, weights and generation.
#include <gtest/gtest.h>

#include <array>

#include "cli/program.h"
#include "support/goldens.h"
#include "support/scene_set.h"
#include "tessera/formats/json.h"

namespace tessera::testing {
namespace {

const std::string model = source_path("models/scenes-tiny"), image = model + "/sample.png";

struct Place {
    const char* label;
    double left, top, right, bottom;
};
constexpr Place guitar = {"guitar", 4, 6, 42, 43}, frog = {"frog", 58, 23, 87, 50},
                triangle = {"red triangle", 76, 84, 105, 110};

void expect_found(const char* question, std::initializer_list<Place> places) {
    const Answer answer = expect_success({"generate", model, "--image", image, question, "--json"});
    const formats::Json said = formats::Json::parse(answer.out, "out");
    const formats::Json* boxes = said.find("answers")->items()[0].find("detections");
    ASSERT_NE(boxes, nullptr) << answer.out;
    ASSERT_EQ(boxes->items().size(), places.size()) << answer.out;
    auto box = boxes->items().begin();
    for (const Place& place : places) {
        const auto edge = [&](const char* name) { return static_cast<double>(box->find(name)->as_integer()); };
        EXPECT_EQ(box->find("label")->as_string(), place.label);
        EXPECT_NEAR(edge("left"), place.left, 4);
        EXPECT_NEAR(edge("top"), place.top, 4);
        EXPECT_NEAR(edge("right"), place.right, 4);
        EXPECT_NEAR(edge("bottom"), place.bottom, 4);
        ++box;
    }
}

TEST(ScenesTiny, AnswersAboutItsImages) {
    const std::array<std::string, 3> expected[] = {{"sample.png", "caption en", "a guitar, a frog and a red triangle"},
                                                   {"sample.png", "answer en how many frogs are there?", "1"},
                                                   {"sample.png", "answer en what is below the frog?", "red triangle"},
                                                   {"sample.png", "answer en what is left of the frog?", "guitar"},
                                                   {"word.png", "ocr", "BOOK"}};
    for (const auto& [file, question, words] : expected) {
        const Answer answer = expect_success({"generate", model, "--image", model + "/" + file, question});
        EXPECT_EQ(answer.out.substr(0, answer.out.find('\n')), words) << question;
    }
}

TEST(ScenesTiny, FindsWhatIsAskedFor) {
    expect_found("detect all", {guitar, frog, triangle});
    expect_found("detect frog", {frog});
    expect_found("detect guitar", {guitar});
    expect_found("detect red triangle ; guitar", {triangle, guitar});
}

// Shapes on plain backgrounds are its easiest questions; the sets of its card need data that tests do not have.
TEST(ScenesTiny, IsMarkedByItsAnswers) {
    const SceneSet set;
    const std::string file = set.file(R"("size": 112, "seed": 9, "fonts": [], "tasks": {"where": 1})").string();
    const Answer answer = expect_success({"scenes", "score", model, file, "--count", "40", "--json"});
    const formats::Json said = formats::Json::parse(answer.out, "out");
    EXPECT_EQ(said.find("where")->find("asked")->as_integer(), 40);
    EXPECT_GT(said.find("where")->find("exact_match")->as_number(), 0.8);
}

TEST(ScenesTiny, MarkedAnswersEndAtTheIdsOfItsFiles) {
    const SceneSet set;
    const std::string file = set.file(R"("size": 112, "seed": 9, "fonts": [], "tasks": {"where": 1})").string();
    const std::string copy = set.folder / "model";
    std::filesystem::copy(model, copy);
    formats::Json every_id = formats::Json::array();
    for (std::int64_t id = 0; id < 5000; ++id) every_id.push_back(id);
    formats::Json::object().set("eos_token_id", std::move(every_id)).write(copy + "/generation_config.json");
    const Answer answer = expect_success({"scenes", "score", copy, file, "--count", "10", "--json"});
    const formats::Json said = formats::Json::parse(answer.out, "out");
    EXPECT_EQ(said.find("where")->find("exact_match")->as_number(), 0);
}

}  // namespace
}  // namespace tessera::testing
