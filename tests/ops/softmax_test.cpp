#include "tessera/ops/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "support/expect_error.h"
#include "support/op_case.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

Tensor row(std::initializer_list<float> values) {
    return Tensor::from(values, {static_cast<std::int64_t>(values.size())});
}

TEST(Softmax, LargeValuesDoNotOverflow) {
    const auto y = ops::softmax(row({1e30f, 1e30f, -1e30f, 1e30f})).to_vector<float>();
    EXPECT_FLOAT_EQ(y[0], 1.0f / 3);
    EXPECT_EQ(y[2], 0.0f);
    const auto logs = ops::log_softmax(row({1000, 1000})).to_vector<float>();
    EXPECT_FLOAT_EQ(logs[0], -std::log(2.0f));
}

TEST(Softmax, MinusInfinityIsExactlyZero) {
    std::vector<float> values(37, -infinity);
    values[5] = 3;
    values[33] = 3;
    const auto y = ops::softmax(Tensor::from(values, {37})).to_vector<float>();
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], i == 5 || i == 33 ? 0.5f : 0.0f) << i;
}

TEST(Softmax, RowOfMinusInfinityGivesZerosAndNoGradient) {
    for (const std::int64_t width : {1, 16, 37}) {
        Tensor x = Tensor::full({2, width}, -infinity);
        x.set_requires_grad();
        const Tensor y = ops::softmax(x);
        for (const float value : y.to_vector<float>()) EXPECT_EQ(value, 0.0f);
        backward({y}, {Tensor::full({2, width}, 1)});
        for (const float value : x.grad().to_vector<float>()) EXPECT_EQ(value, 0.0f);
        for (const float value : ops::log_softmax(x.detach()).to_vector<float>()) EXPECT_EQ(value, -infinity);
    }
}

TEST(Softmax, NaNAndPlusInfinitySpoilTheirRowOnly) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::nanf("5"), infinity})
        for (const std::int64_t place : {0, 5, 36}) {
            std::vector<float> values(3 * 37, 1.0f);
            values[static_cast<std::size_t>(37 + place)] = bad;
            const auto y = ops::softmax(Tensor::from(values, {3, 37})).to_vector<float>();
            EXPECT_TRUE(std::isnan(y[static_cast<std::size_t>(37 + place)]));
            EXPECT_FLOAT_EQ(y[0], 1.0f / 37);
            EXPECT_FLOAT_EQ(y[2 * 37], 1.0f / 37);
            EXPECT_TRUE(std::isnan(y[37 + 20]));
        }
}

TEST(Softmax, RowsSumToOneInEveryDtype) {
    for (const DType dtype : {DType::F64, DType::F32, DType::BF16, DType::F16}) {
        const Tensor y = ops::softmax(random_tensor({5, 200}, 3, -8, 8, dtype));
        EXPECT_EQ(y.dtype(), dtype);
        const auto values = y.to_vector<double>();
        for (std::size_t r = 0; r < 5; ++r) {
            double total = 0;
            for (std::size_t i = 0; i < 200; ++i) total += values[r * 200 + i];
            EXPECT_NEAR(total, 1, is_float(dtype) && dtype >= DType::BF16 ? 1e-2 : 1e-6);
        }
    }
}

// Large results are streamed past the caches, whole cache lines one row late.
TEST(Softmax, RowsPastTheStreamingSizeAreTheSame) {
    for (const std::int64_t width : {80, 100, 1031, 2064, 4096}) {
        const std::int64_t rows = (std::int64_t{17} << 20) / (4 * width);
        const Tensor few = random_tensor({3, width}, 4, -5, 5, DType::F32), many = Tensor::empty({rows, width});
        for (std::int64_t r = 0; r < rows; ++r)
            std::copy_n(few.data<float>() + r % 3 * width, width, many.data<float>() + r * width);
        const std::pair<Tensor, Tensor> results[] = {{ops::softmax(few), ops::softmax(many)},
                                                     {ops::log_softmax(few), ops::log_softmax(many)}};
        for (const auto& [small, large] : results)
            for (std::int64_t r = 0; r < rows; ++r)
                ASSERT_TRUE(std::equal(small.data<float>() + r % 3 * width, small.data<float>() + (r % 3 + 1) * width,
                                       large.data<float>() + r * width))
                    << "row " << r << " of " << width;
    }
}

// Long rows are worked on in chunks, each relative to its own maximum.
TEST(Softmax, ChunksMayDifferInScale) {
    const std::int64_t width = 5000;
    std::vector<float> values(static_cast<std::size_t>(width), -infinity);  // the first chunk stays −∞
    for (std::size_t i = 1500; i < 2500; ++i) values[i] = -300;
    for (std::size_t i = 3000; i < 5000; ++i) values[i] = i % 2 ? 20.0f : 10.0f;
    const Tensor x = Tensor::from(values, {1, width});
    const auto y = ops::softmax(x).to_vector<double>(), logs = ops::log_softmax(x).to_vector<double>();
    const double total = 1000 * (1 + std::exp(-10.0));  // over e^20
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double expected = std::exp(static_cast<double>(values[i]) - 20) / total;
        ASSERT_NEAR(y[i], expected, 1e-6 * expected + 1e-37) << i;  // below the normal floats it is 0
        if (values[i] == -infinity) {
            ASSERT_EQ(logs[i], -infinity) << i;
        } else {
            ASSERT_NEAR(logs[i], static_cast<double>(values[i]) - 20 - std::log(total), 2e-5) << i;
        }
    }
}

TEST(Softmax, EmptyInputsGiveEmptyOutputs) {
    EXPECT_EQ(ops::softmax(Tensor::empty({0, 5})).shape(), (Shape{0, 5}));
    EXPECT_EQ(ops::softmax(Tensor::empty({5, 0})).shape(), (Shape{5, 0}));
    EXPECT_EQ(ops::log_softmax(Tensor::empty({0})).shape(), (Shape{0}));
}

TEST(MaskedSoftmax, LengthsAreClampedAndZeroGivesZeros) {
    const Tensor x = random_tensor({4, 37}, 5, -1, 1, DType::F32);
    const Tensor lengths = Tensor::from<std::int64_t>({0, 100, -3, 37}, {4});
    const auto y = ops::masked_softmax(x, lengths).to_vector<float>(), whole = ops::softmax(x).to_vector<float>();
    for (std::size_t i = 0; i < 37; ++i) {
        EXPECT_EQ(y[i], 0.0f);
        EXPECT_EQ(y[37 + i], whole[37 + i]);
        EXPECT_EQ(y[2 * 37 + i], 0.0f);
        EXPECT_EQ(y[3 * 37 + i], whole[3 * 37 + i]);
    }
}

TEST(MaskedSoftmax, WhatIsMaskedDoesNotMatter) {
    Tensor x = Tensor::full({1, 37}, std::numeric_limits<float>::quiet_NaN());
    for (int i = 0; i < 5; ++i) x.data<float>()[i] = static_cast<float>(i);
    x.set_requires_grad();
    const Tensor y = ops::masked_softmax(x, Tensor::from<std::int64_t>({5}, {1}));
    const auto expected = ops::softmax(row({0, 1, 2, 3, 4})).to_vector<float>(), got = y.to_vector<float>();
    for (std::size_t i = 0; i < 37; ++i) EXPECT_EQ(got[i], i < 5 ? expected[i] : 0.0f);
    Tensor dy = Tensor::full({1, 37}, std::numeric_limits<float>::quiet_NaN());
    for (int i = 0; i < 5; ++i) dy.data<float>()[i] = 1;
    backward({y}, {dy});
    for (const float value : x.grad().to_vector<float>()) EXPECT_NEAR(value, 0, 1e-7);
}

TEST(Softmax, BadInputSaysWhat) {
    expect_error([] { ops::softmax(Tensor::scalar(1)); }, {"softmax", "()"});
    expect_error([] { ops::log_softmax(Tensor::empty({3}, DType::I64)); }, {"log_softmax", "i64"});
    const Tensor x = Tensor::empty({4, 3, 7});
    expect_error([&] { ops::masked_softmax(x, Tensor::empty({3}, DType::I64)); },
                 {"masked_softmax", "(3)", "(4, 3, 7)"});
    expect_error([&] { ops::masked_softmax(x, Tensor::empty({4, 3, 7}, DType::I64)); }, {"masked_softmax"});
    expect_error([&] { ops::masked_softmax(x, Tensor::empty({4})); }, {"masked_softmax", "f32"});
}

}  // namespace
}  // namespace tessera::testing
