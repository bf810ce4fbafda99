#include "tessera/ops/random.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.h"
#include "support/op_case.h"
#include "tessera/core/parallel.h"

namespace tessera {
namespace {

using Make = Tensor (*)(DType dtype, RandomKey key, const Shape& shape);
const Make makers[] = {
    [](DType dtype, RandomKey key, const Shape& shape) { return ops::uniform(shape, -2, 3, key, dtype); },
    [](DType dtype, RandomKey key, const Shape& shape) { return ops::normal(shape, 1, 2, key, dtype); },
};

struct Moments {
    double mean = 0, deviation = 0, skew = 0, kurtosis = 0, low = 1e30, high = -1e30;
};

Moments moments_of(const Tensor& x) {
    const auto values = x.to_vector<double>();
    const auto n = static_cast<double>(values.size());
    Moments m;
    for (const double value : values) {
        m.mean += value / n;
        m.low = std::min(m.low, value);
        m.high = std::max(m.high, value);
    }
    double square = 0;
    for (const double value : values) square += (value - m.mean) * (value - m.mean) / n;
    m.deviation = std::sqrt(square);
    for (const double value : values) {
        const double z = (value - m.mean) / m.deviation;
        m.skew += z * z * z / n;
        m.kurtosis += z * z * z * z / n;
    }
    return m;
}

// Tolerances are about five standard errors of a million samples.
TEST(Random, UniformMoments) {
    const Moments m = moments_of(ops::uniform({1000, 1000}, -2, 3, {42, 1}));
    EXPECT_NEAR(m.mean, 0.5, 0.0075);
    EXPECT_NEAR(m.deviation, 5 / std::sqrt(12.0), 0.005);
    EXPECT_NEAR(m.kurtosis, 1.8, 0.01);
    EXPECT_GE(m.low, -2);
    EXPECT_LE(m.high, 3);
    EXPECT_LT(m.low, -1.9999);
    EXPECT_GT(m.high, 2.9999);
}

TEST(Random, NormalMoments) {
    const Moments m = moments_of(ops::normal({1000, 1000}, 1, 2, {42, 2}));
    EXPECT_NEAR(m.mean, 1, 0.01);
    EXPECT_NEAR(m.deviation, 2, 0.0075);
    EXPECT_NEAR(m.skew, 0, 0.0125);
    EXPECT_NEAR(m.kurtosis, 3, 0.025);
    EXPECT_LT(m.low, 1 - 2 * 4.3);  // a million samples reach about 4.9 init_stds
    EXPECT_GT(m.high, 1 + 2 * 4.3);
}

TEST(Random, NormalHasTheRightShareInEachPart) {
    const auto values = ops::normal({1'000'000}, 0, 1, {42, 3}).to_vector<double>();
    for (const double cut : {-2.0, -1.0, 0.0, 0.5, 1.5, 3.0}) {
        double below = 0;
        for (const double value : values) below += value < cut;
        EXPECT_NEAR(below / 1e6, 0.5 * std::erfc(-cut / std::sqrt(2.0)), 0.0025) << cut;
    }
}

TEST(Random, NeighboursAndStreamsAreUncorrelated) {
    const auto a = ops::normal({100'000}, 0, 1, {1, 1}).to_vector<double>();
    const auto b = ops::normal({100'000}, 0, 1, {1, 2}).to_vector<double>();
    for (const std::size_t lag : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{4}}) {
        double own = 0, other = 0;
        for (std::size_t i = 0; i + lag < a.size(); ++i) {
            own += a[i] * a[i + lag] / 1e5;
            other += a[i] * b[i + lag - 1] / 1e5;
        }
        EXPECT_NEAR(own, 0, 0.016) << lag;
        EXPECT_NEAR(other, 0, 0.016) << lag;
    }
}

TEST(Random, SameBitsAtAnyThreadCount) {
    const int threads = thread_count();
    for (const Make make : makers) {
        set_thread_count(1);
        const Tensor one = make(DType::F32, {3, 4}, {70'001});
        set_thread_count(2);
        EXPECT_TRUE(testing::same_bits(one, make(DType::F32, {3, 4}, {70'001})));
    }
    set_thread_count(threads);
}

TEST(Random, AValueDependsOnItsIndexAlone) {
    for (const Make make : makers) {
        const auto longer = make(DType::F32, {3, 4}, {10, 10}).to_vector<float>();
        const auto shorter = make(DType::F32, {3, 4}, {7}).to_vector<float>();
        for (std::size_t i = 0; i < shorter.size(); ++i) EXPECT_EQ(longer[i], shorter[i]);
        EXPECT_FALSE(testing::same_bits(make(DType::F32, {3, 4}, {7}), make(DType::F32, {3, 5}, {7})));
        EXPECT_EQ(make(DType::F32, {}, {0, 3}).shape(), (Shape{0, 3}));
    }
}

TEST(Random, OtherDtypesAreTheSameValuesRounded) {
    for (const Make make : makers)
        for (const DType dtype : {DType::BF16, DType::F16})
            EXPECT_TRUE(testing::same_bits(make(dtype, {8, 8}, {1001}), make(DType::F32, {8, 8}, {1001}).to(dtype)));
}

TEST(Random, BadInputsAreNamed) {
    testing::expect_error([] { ops::uniform({2}, 1, 0, {}); }, {"uniform", "[1, 0)"});
    testing::expect_error([] { ops::normal({2}, 0, -1, {}); }, {"normal", "-1"});
    testing::expect_error([] { ops::normal({2}, 0, 1, {}, DType::I64); }, {"normal", "i64"});
}

}  // namespace
}  // namespace tessera
