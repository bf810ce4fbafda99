#include "tessera/training/optimizers/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/goldens.h"
#include "tessera/core/error.h"

namespace tessera::training {
namespace {

constexpr ScheduleKind kinds[] = {ScheduleKind::Constant, ScheduleKind::Cosine, ScheduleKind::Linear,
                                  ScheduleKind::InverseSquareRoot};

TEST(Schedule, MatchesTheGoldenCurve) {
    const Schedule schedule{
        .kind = ScheduleKind::Cosine, .peak = 0.003, .warmup_steps = 5, .total_steps = 20, .floor_fraction = 0.1};
    const testing::Golden golden("training-curve-llama/expected.safetensors");
    const std::vector<double> expected = golden["lrs"].to_vector<double>();
    ASSERT_EQ(expected.size(), 20u);
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(learning_rate(schedule, static_cast<std::int64_t>(i)), expected[i], 1e-6 * expected[i]) << i;
}

TEST(Schedule, WarmsUpInALineToThePeak) {
    for (const ScheduleKind kind : kinds) {
        const Schedule schedule{.kind = kind, .peak = 2, .warmup_steps = 4, .total_steps = 10};
        EXPECT_DOUBLE_EQ(learning_rate(schedule, 0), 0.5);
        EXPECT_DOUBLE_EQ(learning_rate(schedule, 1), 1.0);
        EXPECT_DOUBLE_EQ(learning_rate(schedule, 3), 2.0);
    }
}

TEST(Schedule, ValuesAfterWarmUp) {
    Schedule schedule{.kind = ScheduleKind::Cosine, .peak = 1, .warmup_steps = 10, .total_steps = 110};
    EXPECT_DOUBLE_EQ(learning_rate(schedule, 10), 1);
    EXPECT_NEAR(learning_rate(schedule, 60), 0.5, 1e-12);
    EXPECT_NEAR(learning_rate(schedule, 110), 0, 1e-12);
    EXPECT_NEAR(learning_rate(schedule, 5000), 0, 1e-12);
    schedule.floor_fraction = 0.2;
    EXPECT_NEAR(learning_rate(schedule, 60), 0.6, 1e-12);
    EXPECT_NEAR(learning_rate(schedule, 5000), 0.2, 1e-12);
    schedule.kind = ScheduleKind::Linear;
    EXPECT_NEAR(learning_rate(schedule, 35), 0.8, 1e-12);
    EXPECT_NEAR(learning_rate(schedule, 110), 0.2, 1e-12);
    schedule.kind = ScheduleKind::InverseSquareRoot;
    EXPECT_NEAR(learning_rate(schedule, 39), 0.5, 1e-12);
    schedule.kind = ScheduleKind::Constant;
    EXPECT_DOUBLE_EQ(learning_rate(schedule, 1000), 1);
}

// No jump larger than the steepest slope of any part, the seams included.
TEST(Schedule, HasNoJumps) {
    for (const ScheduleKind kind : kinds) {
        const Schedule schedule{
            .kind = kind, .peak = 1, .warmup_steps = 100, .total_steps = 1000, .floor_fraction = 0.1};
        for (std::int64_t step = 1; step < 1200; ++step) {
            const double change = learning_rate(schedule, step) - learning_rate(schedule, step - 1);
            EXPECT_LE(std::fabs(change), 0.0101) << static_cast<int>(kind) << " at " << step;
            EXPECT_LE(step < 100 ? 0 : change, 1e-15) << static_cast<int>(kind) << " at " << step;
        }
    }
}

TEST(Schedule, WorksWithoutWarmUp) {
    for (const ScheduleKind kind : kinds)
        EXPECT_DOUBLE_EQ(learning_rate({.kind = kind, .peak = 3, .total_steps = 10}, 0), 3);
}

TEST(Schedule, RefusesWhatMakesNoSense) {
    EXPECT_THROW(learning_rate({.kind = ScheduleKind::Cosine, .peak = 1, .warmup_steps = 5, .total_steps = 5}, 7),
                 Error);
    EXPECT_THROW(learning_rate({.peak = 1}, -1), Error);
}

}  // namespace
}  // namespace tessera::training
