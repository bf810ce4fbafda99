// The line of a training step: it fits the terminal, and comes often enough where there is none.
#include "tessera/cli/commands/training_line.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

TEST(TrainingLine, FieldsGiveWayFromTheRight) {
    const std::vector<std::string> fields{"step 3/9", "loss 4.5", "", "rate 1e-3", "12 MB", "0:04 left"};
    EXPECT_EQ(fitted_line(fields, 80), "step 3/9  loss 4.5  rate 1e-3  12 MB  0:04 left");
    EXPECT_EQ(fitted_line(fields, 47), "step 3/9  loss 4.5  rate 1e-3  12 MB  0:04 left");
    EXPECT_EQ(fitted_line(fields, 46), "step 3/9  loss 4.5  rate 1e-3  0:04 left");
    EXPECT_EQ(fitted_line(fields, 30), "step 3/9  loss 4.5  0:04 left");
    EXPECT_EQ(fitted_line(fields, 10), "step 3/9  ");  // never a second row
}

TEST(TrainingLine, StepsAreShownAtTheFirstAndEveryTenSeconds) {
    const ShownSteps shown{.first = 1, .all = 1000};
    EXPECT_TRUE(shown.shows(1, 0));
    EXPECT_FALSE(shown.shows(2, 1));
    EXPECT_TRUE(shown.shows(2, 10));
    EXPECT_TRUE(shown.shows(50, 0));
    EXPECT_TRUE(shown.shows(1000, 0));
    EXPECT_TRUE((ShownSteps{.first = 8, .all = 1000}.shows(8, 0)));  // of a run that goes on
}

}  // namespace
}  // namespace tessera::cli
