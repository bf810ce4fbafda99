#include "data/scene_scores.h"

#include <gtest/gtest.h>

namespace tessera::data {
namespace {

TEST(SceneScores, CountsEditsOfCharacters) {
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
    EXPECT_EQ(edit_distance("", "abc"), 3);
    EXPECT_EQ(edit_distance("abc", ""), 3);
    EXPECT_EQ(edit_distance("HELLO", "HELLO"), 0);
    EXPECT_EQ(edit_distance("AB", "BA"), 2);
}

TEST(SceneScores, PairsBoxesOfOneLabel) {
    const char* left = "<loc0000><loc0000><loc0512><loc0512> dog";
    const char* right = "<loc0000><loc0512><loc0512><loc1023> dog";
    EXPECT_DOUBLE_EQ(box_overlap(left, left), 1);
    EXPECT_DOUBLE_EQ(box_overlap(left, right), 0);
    const std::string both = std::string(left) + " ; " + right, other = std::string(right) + " ; " + left;
    EXPECT_DOUBLE_EQ(box_overlap(both, other), 1);   // in any order
    EXPECT_DOUBLE_EQ(box_overlap(both, left), 0.5);  // one is missing
    EXPECT_DOUBLE_EQ(box_overlap(left, both), 0.5);  // one is made up
    EXPECT_DOUBLE_EQ(box_overlap(left, "<loc0000><loc0000><loc0512><loc0512> cat"), 0);
    EXPECT_DOUBLE_EQ(box_overlap(left, "nothing"), 0);
    EXPECT_DOUBLE_EQ(box_overlap("", ""), 1);
    // Half of one of two equal boxes: 1/2 shared of 3/2.
    EXPECT_NEAR(box_overlap(left, "<loc0000><loc0256><loc0512><loc0768> dog"), 1.0 / 3, 1e-12);
}

TEST(SceneScores, AddUpByTask) {
    SceneScores scores;
    scores.add(SceneTask::caption, "a dog", "a dog");
    scores.add(SceneTask::caption, "a dog", "a cat");
    scores.add(SceneTask::ocr, "HELLO", "HELO");
    EXPECT_DOUBLE_EQ(scores[SceneTask::caption].exact_share(), 0.5);
    EXPECT_DOUBLE_EQ(scores[SceneTask::ocr].character_error(), 0.2);
    EXPECT_EQ(scores.json().dump(0),
              R"({"caption":{"asked":2,"exact_match":0.5},"ocr":{"asked":1,"exact_match":0.0,"character_error":0.2}})");
}

}  // namespace
}  // namespace tessera::data
