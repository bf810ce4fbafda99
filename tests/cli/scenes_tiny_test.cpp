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
    const std::pair<const char*, const char*> expected[] = {{"caption en", "a bee, a red circle and a dog"},
                                                            {"answer en how many dogs are there?", "1"},
                                                            {"answer en what is left of the dog?", "bee"},
                                                            {"answer en what is above the dog?", "red circle"}};
    for (const auto& [question, words] : expected) {
        const Answer answer = expect_success({"generate", model, "--image", picture, question});
        EXPECT_EQ(answer.out.substr(0, answer.out.find('\n')), words) << question;
    }
}

// The circle lies from (52, 22) to (90, 60).
TEST(ScenesTiny, FindsTheCircle) {
    const Answer answer = expect_success({"generate", model, "--image", picture, "detect red circle", "--json"});
    const formats::Json said = formats::Json::parse(answer.out, "out");
    const formats::Json* boxes = said.find("answers")->items()[0].find("detections");
    ASSERT_NE(boxes, nullptr) << answer.out;
    ASSERT_EQ(boxes->items().size(), 1u);
    const formats::Json& box = boxes->items()[0];
    EXPECT_EQ(box.find("label")->as_string(), "red circle");
    EXPECT_NEAR(static_cast<double>(box.find("left")->as_integer()), 52, 4);
    EXPECT_NEAR(static_cast<double>(box.find("top")->as_integer()), 22, 4);
    EXPECT_NEAR(static_cast<double>(box.find("right")->as_integer()), 90, 4);
    EXPECT_NEAR(static_cast<double>(box.find("bottom")->as_integer()), 60, 4);
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
