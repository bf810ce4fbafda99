#include "tessera/ops/nadaraya_watson.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/op_case.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

using ops::PoolingKernel;

TEST(NadarayaWatson, AQueryOutOfReachGivesZeros) {
    for (const PoolingKernel kernel : {PoolingKernel::Boxcar, PoolingKernel::Epanechnikov}) {
        Tensor queries = Tensor::from<double>({0.0, 10.0}, {2, 1}), keys = Tensor::from<double>({0.1, 0.2}, {2, 1});
        Tensor values = Tensor::from<double>({1.0, 3.0}, {2, 1});
        for (Tensor* tensor : {&queries, &keys, &values}) tensor->set_requires_grad();
        const Tensor out = ops::nadaraya_watson(queries, keys, values, kernel, 1.0);
        EXPECT_GT(out.to_vector<double>()[0], 1);
        EXPECT_EQ(out.to_vector<double>()[1], 0);
        backward({out}, {Tensor::full({2, 1}, 1, DType::F64)});
        EXPECT_EQ(queries.grad().to_vector<double>()[1], 0);
        EXPECT_NEAR(values.grad().to_vector<double>()[0] + values.grad().to_vector<double>()[1], 1, 1e-14);
    }
}

// Far from all keys every exp(−d²/2w²) underflows; their ratios do not.
TEST(NadarayaWatson, AGaussianTakesTheNearestKeyFromAfar) {
    const Tensor queries = Tensor::from<float>({1000.0f}, {1, 1}), keys = Tensor::from<float>({0.0f, 1.0f}, {2, 1});
    const Tensor values = Tensor::from<float>({5.0f, 7.0f}, {2, 1});
    EXPECT_NEAR(ops::nadaraya_watson(queries, keys, values, PoolingKernel::Gaussian, 1.0).item(), 7, 1e-6);
}

TEST(NadarayaWatson, TheBoxcarIsAPlainMeanWithoutGradientToPlaces) {
    Tensor queries = random_tensor({4, 2}, 1), keys = random_tensor({6, 2}, 2), values = random_tensor({6, 3}, 3);
    for (Tensor* tensor : {&queries, &keys}) tensor->set_requires_grad();
    const Tensor out = ops::nadaraya_watson(queries, keys, values, PoolingKernel::Boxcar, 100);
    std::vector<double> mean(3);
    for (std::size_t i = 0; i < 18; ++i) mean[i % 3] += values.to_vector<double>()[i] / 6;
    for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(out.to_vector<double>()[i], mean[i % 3], 1e-14);
    backward({out}, {random_tensor({4, 3}, 4)});
    EXPECT_EQ(relative_error(queries.grad(), Tensor::zeros({4, 2})), 0);
    EXPECT_EQ(relative_error(keys.grad(), Tensor::zeros({6, 2})), 0);
}

TEST(NadarayaWatson, AQueryOnAKeyHasAFiniteGradient) {
    Tensor queries = Tensor::from<double>({0.5}, {1, 1}), keys = Tensor::from<double>({0.5, 0.7}, {2, 1});
    const Tensor values = Tensor::from<double>({1.0, 2.0}, {2, 1});
    queries.set_requires_grad();
    const Tensor out = ops::nadaraya_watson(queries, keys, values, PoolingKernel::Epanechnikov, 1.0);
    EXPECT_NEAR(out.item(), (1 + 0.8 * 2) / 1.8, 1e-14);
    backward(out);
    EXPECT_TRUE(std::isfinite(queries.grad().item()));
}

TEST(NadarayaWatson, ReportsWhatDoesNotFit) {
    const Tensor queries = random_tensor({4, 2}, 1), keys = random_tensor({6, 2}, 2), values = random_tensor({5, 3}, 3);
    try {
        ops::nadaraya_watson(queries, keys, values, PoolingKernel::Boxcar, 1);
        FAIL() << "five values were taken for six keys";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "nadaraya_watson: queries (4, 2), keys (6, 2) and values (5, 3) do not fit");
    }
    EXPECT_THROW(ops::nadaraya_watson(queries, keys, keys, PoolingKernel::Boxcar, 0), Error);
    EXPECT_THROW(ops::nadaraya_watson(queries, keys, keys.to(DType::F32), PoolingKernel::Boxcar, 1), Error);
}

}  // namespace
}  // namespace tessera::testing
