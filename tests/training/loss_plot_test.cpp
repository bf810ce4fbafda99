// The picture of a run's losses, and the figure that is reported of them.
#include "training/loss_plot.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

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
        whole = recent_loss(metrics.losses()).mean;
    }
    EXPECT_EQ(recent_loss(Metrics(folder / "metrics.jsonl", 70).losses()).mean, whole);
}

std::string loss_picture(const Metrics& metrics, const std::string& title = "a <run>") {
    return loss_svg(metrics, title);
}

TEST(LossPlot, HasLabelsAndALegend) {
    const testing::TemporaryFolder folder;
    Metrics metrics(folder / "metrics.jsonl", 0);
    for (std::int64_t step = 1; step <= 9; ++step) metrics.add({.step = step, .loss = 5.0 - 0.1 * step}, 1);
    EXPECT_EQ(loss_picture(metrics).find("validation"), std::string::npos);
    metrics.add_validation(9, {.loss = 4.5, .targets = 1});
    const std::string svg = loss_picture(metrics);
    for (const char* text :
         {">step<", ">loss<", ">training, each step<", ">training, smoothed<", ">validation<", ">a &lt;run&gt;<"})
        EXPECT_NE(svg.find(text), svg.npos) << text;
    EXPECT_NE(loss_picture(metrics, std::string(100, 'x')).find(std::string(36, 'x') + "…<"), svg.npos);
    EXPECT_NE(loss_picture(metrics, std::string(35, 'x') + "ïï").find(std::string(35, 'x') + "…<"), svg.npos);
}

TEST(LossPlot, OfCountsHasTheValidationAlone) {
    const testing::TemporaryFolder folder;
    Metrics metrics(folder / "metrics.jsonl", 0);
    metrics.add_validation(9, {.loss = 4.5, .targets = 1});
    EXPECT_EQ(loss_picture(metrics).find("training"), std::string::npos);
    EXPECT_NE(loss_picture(metrics).find(">validation<"), std::string::npos);
}

}  // namespace
}  // namespace tessera::training
