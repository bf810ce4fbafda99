#include "tessera/training/nadaraya_watson.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace tessera::training {
namespace {

using ops::PoolingKernel;
using testing::expect_error;

const Points three{.x = {0, 1, 3}, .y = {2, 4, 10}};

TEST(KernelRegression, IsTheWeightedMean) {
    const std::vector<double> queries{1};
    // Distances 1, 0 and 2.
    const double near = std::exp(-0.5), far = std::exp(-2.0);
    EXPECT_NEAR(pooled(three, queries, {PoolingKernel::Gaussian, 1})[0], (2 * near + 4 + 10 * far) / (near + 1 + far),
                1e-9);
    EXPECT_NEAR(pooled(three, queries, {PoolingKernel::Epanechnikov, 4})[0],
                (2 * 0.75 + 4 + 10 * 0.5) / (0.75 + 1 + 0.5), 1e-9);
    EXPECT_NEAR(pooled(three, queries, {PoolingKernel::Boxcar, 1.5})[0], 3, 1e-9);
    EXPECT_NEAR(pooled(three, queries, {PoolingKernel::Boxcar, 100})[0], 16.0 / 3, 1e-9);
    const std::vector<double> weights = pooling_weights(three, queries, {PoolingKernel::Boxcar, 1.5});
    EXPECT_EQ(weights, (std::vector<double>{0.5, 0.5, 0}));
}

TEST(KernelRegression, APointIsForetoldFromTheOthers) {
    // Alike: each from the mean of the other two.
    EXPECT_NEAR(left_out_error(three, {PoolingKernel::Boxcar, 100}), (5 * 5 + 2 * 2 + 7 * 7) / 3.0, 1e-9);
}

TEST(KernelRegression, TheWidthDescendsAlongTheSlope) {
    const Points points = noisy_points(40, 1);
    const PoolingSettings start{PoolingKernel::Gaussian, 1.5};
    const std::vector<WidthStep> path = learn_width(points, start, 60, 0.5);
    ASSERT_EQ(path.size(), 61u);
    EXPECT_EQ(path[0].width, 1.5);
    EXPECT_NEAR(path[0].error, left_out_error(points, start), 1e-12);
    const auto error_at = [&](double log_width) {
        return left_out_error(points, {PoolingKernel::Gaussian, std::exp(log_width)});
    };
    const double at = std::log(1.5), slope = (error_at(at + 1e-5) - error_at(at - 1e-5)) / 2e-5;
    EXPECT_NEAR(std::log(path[1].width), at - 0.5 * slope, 1e-7);
    EXPECT_LT(path.back().error, path[0].error / 2);
    EXPECT_LT(path.back().width, 1);
    // It has come to a rest at a minimum.
    const double end = std::log(path.back().width);
    EXPECT_LT(error_at(end), error_at(end + 0.2));
    EXPECT_LT(error_at(end), error_at(end - 0.2));
    expect_error([&] { learn_width(points, {PoolingKernel::Boxcar, 1}, 1, 1); }, {"boxcar"});
}

TEST(KernelRegression, PointsComeFromAFile) {
    const testing::TemporaryFolder folder;
    const Points points = read_points(folder.write("a.tsv", "3\t1.5\n\n-1e0\t2\tmore\r\n"));
    EXPECT_EQ(points.x, (std::vector<double>{-1, 3}));
    EXPECT_EQ(points.y, (std::vector<double>{2, 1.5}));
    for (const char* bad : {"1 2\n", "1\tx\n", "1\t\n", "nan\t1\n", "1\t1e400\n"})
        expect_error([&] { read_points(folder.write("b.tsv", bad)); }, {"b.tsv", "line 1", "number"});
}

TEST(KernelRegression, MadePointsDependOnTheSeedAlone) {
    EXPECT_EQ(noisy_points(20, 3).y, noisy_points(20, 3).y);
    EXPECT_NE(noisy_points(20, 3).y, noisy_points(20, 4).y);
    const Points points = noisy_points(2000, 5);
    double sum = 0;
    for (std::size_t i = 0; i < points.x.size(); ++i) sum += std::pow(points.y[i] - noiseless(points.x[i]), 2);
    EXPECT_NEAR(sum / 2000, 0.25, 0.02);
}

}  // namespace
}  // namespace tessera::training
