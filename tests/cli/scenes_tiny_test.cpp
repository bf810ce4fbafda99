// The model that comes along, from its folder to its words: tokenizer, picture processor, weights and generation.
#include <gtest/gtest.h>

#include "cli/program.h"
#include "formats/json.h"
#include "support/goldens.h"
#include "support/scene_set.h"

namespace tessera::testing {
namespace {

const std::string model = source_path("models/scenes-tiny"), picture = source_path("models/scenes-tiny/sample.png");

TEST(ScenesTiny, AnswersAboutItsPicture) {
    const std::pair<const char*, const char*> expected[] = {{"caption en", "a dog, a yellow circle and a tree"},
                                                            {"answer en how many dogs are there?", "1"},
                                                            {"answer en what is right of the dog?", "tree"},
                                                            {"answer en what is above the dog?", "yellow circle"}};
    for (const auto& [question, words] : expected) {
        const Answer answer = expect_success({"generate", model, "--image", picture, question});
        EXPECT_EQ(answer.out.substr(0, answer.out.find('\n')), words) << question;
    }
}

TEST(ScenesTiny, FindsEverything) {
    struct Place {
        const char* label;
        double left, top, right, bottom;
    };
    const Place places[] = {{"dog", 33, 44, 71, 78}, {"yellow circle", 50, 12, 79, 41}, {"tree", 77, 43, 99, 72}};
    const Answer answer = expect_success({"generate", model, "--image", picture, "detect all", "--json"});
    const formats::Json said = formats::Json::parse(answer.out, "out");
    const formats::Json* boxes = said.find("answers")->items()[0].find("detections");
    ASSERT_NE(boxes, nullptr) << answer.out;
    ASSERT_EQ(boxes->items().size(), std::size(places)) << answer.out;
    for (std::size_t i = 0; i < std::size(places); ++i) {
        const formats::Json& box = boxes->items()[i];
        const auto edge = [&](const char* name) { return static_cast<double>(box.find(name)->as_integer()); };
        EXPECT_EQ(box.find("label")->as_string(), places[i].label);
        EXPECT_NEAR(edge("left"), places[i].left, 4);
        EXPECT_NEAR(edge("top"), places[i].top, 4);
        EXPECT_NEAR(edge("right"), places[i].right, 4);
        EXPECT_NEAR(edge("bottom"), places[i].bottom, 4);
    }
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

}  // namespace
}  // namespace tessera::testing
