// The figure that is reported of a run's losses.
#include <gtest/gtest.h>

#include "support/temporary_folder.h"
#include "tessera/training/run/metrics.h"

namespace tessera::training {
namespace {

TEST(RecentLoss, IsTheMeanOfTheLastSteps) {
    EXPECT_TRUE(std::isnan(recent_loss({}).mean));
    EXPECT_EQ(recent_loss({}).steps, 0);
    EXPECT_EQ(recent_loss({{1, 4}, {2, 2}}).mean, 3);
    EXPECT_EQ(recent_loss({{1, 4}, {2, 2}}).steps, 2);
    std::vector<LossPoint> falling;
    for (std::int64_t step = 1; step <= 200; ++step) falling.push_back({step, step <= 150 ? 100.0 : 0.0});
    EXPECT_EQ(recent_loss(falling).mean, 0);  // nothing lingers of what is long over
    EXPECT_EQ(recent_loss(falling).steps, 50);
}

// Read back from the file, as after a resumption, it has the same bits.
TEST(RecentLoss, FollowsFromTheFile) {
    const testing::TemporaryFolder folder;
    double whole = 0;
    {
        Metrics metrics(folder / "metrics.jsonl", 0);
        for (std::int64_t step = 1; step <= 70; ++step)
            metrics.add({.step = step, .loss = 1.0 / static_cast<double>(step)}, 1);
        whole = recent_loss(metrics.history().training).mean;
    }
    EXPECT_EQ(recent_loss(Metrics(folder / "metrics.jsonl", 70).history().training).mean, whole);
}

// The first loss counts no more than its share: after two, the average is almost their mean.
TEST(SmoothedLoss, IsCorrectedForItsBeginning) {
    EXPECT_EQ(smoothed(0, 8, 1), 8);
    EXPECT_NEAR(smoothed(8, 4, 2), (0.98 * 8 + 4) / 1.98, 1e-12);
    double average = 0, sum = 0, weight = 0;
    for (std::int64_t step = 1; step <= 2000; ++step) {
        const double loss = 4 + 4 / static_cast<double>(step);
        average = smoothed(average, loss, step);
        sum = 0.98 * sum + loss;
        weight = 0.98 * weight + 1;
        EXPECT_NEAR(average, sum / weight, 1e-9) << step;
    }
    EXPECT_NEAR(smoothed(4, 5, 2000), 4.02, 1e-12);  // long after the beginning: 0.98 of the old, 0.02 of the new
}

}  // namespace
}  // namespace tessera::training
