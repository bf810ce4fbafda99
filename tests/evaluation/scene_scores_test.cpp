#include "tessera/evaluation/scene_scores.h"

#include <gtest/gtest.h>

namespace tessera::evaluation {
namespace {

TEST(SceneScores, PairsBoxesOfOneLabel) {
    const char* left = "<loc0000><loc0000><loc0512><loc0512> dog";
    const char* right = "<loc0000><loc0512><loc0512><loc1023> dog";
    EXPECT_DOUBLE_EQ(match_boxes(left, left).overlap, 1);
    EXPECT_DOUBLE_EQ(match_boxes(left, right).overlap, 0);
    const std::string both = std::string(left) + " ; " + right, other = std::string(right) + " ; " + left;
    EXPECT_DOUBLE_EQ(match_boxes(both, other).overlap, 1);   // in any order
    EXPECT_DOUBLE_EQ(match_boxes(both, left).overlap, 0.5);  // one is missing
    EXPECT_DOUBLE_EQ(match_boxes(left, both).overlap, 0.5);  // one is made up
    EXPECT_DOUBLE_EQ(match_boxes(left, "<loc0000><loc0000><loc0512><loc0512> cat").overlap, 0);
    EXPECT_DOUBLE_EQ(match_boxes(left, "nothing").overlap, 0);
    EXPECT_DOUBLE_EQ(match_boxes("", "").overlap, 1);
    // Half of one of two equal boxes: 1/2 shared of 3/2.
    EXPECT_NEAR(match_boxes(left, "<loc0000><loc0256><loc0512><loc0768> dog").overlap, 1.0 / 3, 1e-12);
}

TEST(SceneScores, FindsBoxesThatOverlapByHalf) {
    const char* wanted = "<loc0000><loc0000><loc0512><loc0512> dog ; <loc0512><loc0512><loc1000><loc1000> cup";
    const BoxMatch match =
        match_boxes(wanted, "<loc0000><loc0000><loc0512><loc0500> dog ; <loc0512><loc0512><loc0700><loc1000> cup");
    EXPECT_EQ(match.wanted, 2);
    EXPECT_EQ(match.found, 1);
    EXPECT_EQ(match_boxes(wanted, wanted).found, 2);
    EXPECT_EQ(match_boxes(wanted, "<loc0000><loc0000><loc0512><loc0512> cup").found, 0);  // under another name
    EXPECT_EQ(match_boxes("", wanted).wanted, 0);
    SceneScores scores;
    scores.add(scenes::SceneTask::Detect, wanted, wanted);
    scores.add(scenes::SceneTask::Detect, wanted, "");
    EXPECT_EQ(scores.json().dump(0), R"({"detect":{"asked":2,"exact_match":0.5,"mean_iou":0.5,"found":0.5}})");
}

TEST(SceneScores, AddUpByTask) {
    SceneScores scores;
    scores.add(scenes::SceneTask::Caption, "a dog", "a dog");
    scores.add(scenes::SceneTask::Caption, "a dog", "a cat");
    scores.add(scenes::SceneTask::Ocr, "HELLO", "HELO");
    EXPECT_DOUBLE_EQ(scores[scenes::SceneTask::Caption].exact_share(), 0.5);
    EXPECT_DOUBLE_EQ(scores[scenes::SceneTask::Ocr].character_error(), 0.2);
    EXPECT_EQ(scores.json().dump(0),
              R"({"caption":{"asked":2,"exact_match":0.5},"ocr":{"asked":1,"exact_match":0.0,"character_error":0.2}})");
}

}  // namespace
}  // namespace tessera::evaluation
