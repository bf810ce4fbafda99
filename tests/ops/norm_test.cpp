#include "tessera/ops/norm.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "support/expect_error.h"
#include "support/op_case.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

TEST(LayerNorm, RowsHaveMeanZeroAndVarianceOne) {
    // A mean far larger than the spread: E[x²] − mean² in f32 would leave nothing.
    const Tensor y = ops::layer_norm(random_tensor({4, 333}, 1, 1000, 1001, DType::F32), {}, {}, 1e-9);
    const auto values = y.to_vector<double>();
    for (std::size_t row = 0; row < 4; ++row) {
        double mean = 0, square = 0;
        for (std::size_t i = 0; i < 333; ++i) {
            mean += values[row * 333 + i] / 333;
            square += values[row * 333 + i] * values[row * 333 + i] / 333;
        }
        EXPECT_NEAR(mean, 0, 1e-3);
        EXPECT_NEAR(square, 1, 1e-3);
    }
}

TEST(LayerNorm, ConstantRowsGiveTheBias) {
    const Tensor bias = Tensor::from<float>({1, 2, 3}, {3});
    const Tensor y = ops::layer_norm(Tensor::full({2, 3}, 7), Tensor::full({3}, 5), bias);
    EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{1, 2, 3, 1, 2, 3}));
}

TEST(RmsNorm, ZerosStayZeros) {
    for (const float value : ops::rms_norm(Tensor::zeros({2, 33}), {}).to_vector<float>()) EXPECT_EQ(value, 0.0f);
}

TEST(RmsNorm, WeightOffsetIsTheWeightShifted) {
    const Tensor x = random_tensor({3, 70}, 1, -1, 1, DType::F64), w = random_tensor({70}, 2, -1, 1, DType::F64);
    const Tensor shifted = ops::rms_norm(x, ops::shift(w, 1)), offset = ops::rms_norm(x, w, {.weight_offset = 1});
    EXPECT_LE(relative_error(offset, shifted), 1e-15);
}

TEST(RmsNorm, DoesNotDependOnScale) {
    const Tensor x = random_tensor({3, 70}, 1, -1, 1, DType::F64);
    EXPECT_LE(relative_error(ops::rms_norm(ops::scale(x, 1000), {}, {.eps = 0}), ops::rms_norm(x, {}, {.eps = 0})),
              1e-14);
}

// What is normalised is the sum that is handed out, rounding and all: the same bits as adding first.
TEST(AddNorm, EqualsAddThenNorm) {
    for (const DType dtype : {DType::F64, DType::F32, DType::BF16, DType::F16}) {
        const Tensor x = random_tensor({5, 131}, 1, -1, 1, dtype), r = random_tensor({5, 131}, 2, -1, 1, dtype);
        const Tensor w = random_tensor({131}, 3, -1, 1, dtype), b = random_tensor({131}, 4, -1, 1, dtype);
        const Tensor sum = ops::add(x, r);
        const auto rms = ops::add_rms_norm(x, r, w, {.eps = 1e-5, .weight_offset = 1});
        EXPECT_TRUE(same_bits(rms.sum, sum));
        EXPECT_TRUE(same_bits(rms.normed, ops::rms_norm(sum, w, {.eps = 1e-5, .weight_offset = 1})));
        const auto layer = ops::add_layer_norm(x, r, w, b, 1e-5);
        EXPECT_TRUE(same_bits(layer.sum, sum));
        EXPECT_TRUE(same_bits(layer.normed, ops::layer_norm(sum, w, b, 1e-5)));
    }
}

TEST(AddNorm, StreamedRowsAreTheSame) {
    const std::int64_t width = 1031, rows = (std::int64_t{20} << 20) / (4 * width);
    const Tensor x = random_tensor({3, width}, 4, -5, 5, DType::F32), w = random_tensor({width}, 5, -1, 1, DType::F32);
    const Tensor many = Tensor::empty({rows, width});
    for (std::int64_t r = 0; r < rows; ++r)
        std::copy_n(x.data<float>() + r % 3 * width, width, many.data<float>() + r * width);
    const auto small = ops::add_rms_norm(x, x, w), large = ops::add_rms_norm(many, many, w);
    for (std::int64_t r = 0; r < rows; ++r)
        for (const auto& [few, all] : {std::pair{small.normed, large.normed}, {small.sum, large.sum}})
            ASSERT_TRUE(std::equal(few.data<float>() + r % 3 * width, few.data<float>() + (r % 3 + 1) * width,
                                   all.data<float>() + r * width))
                << r;
}

// Rows of many pages or of a part of one, in whole cache lines or not.
TEST(Norm, StreamedRowsAreTheSame) {
    for (const std::int64_t width : {64, 100, 1024, 4096, 4100, 70000}) {
        const std::int64_t rows = ((std::int64_t{17} << 20) / (4 * width)) | 1;
        const Tensor x = random_tensor({3, width}, 4, -5, 5, DType::F32),
                     w = random_tensor({width}, 5, -1, 1, DType::F32);
        const Tensor many = Tensor::empty({rows, width});
        for (std::int64_t r = 0; r < rows; ++r)
            std::copy_n(x.data<float>() + r % 3 * width, width, many.data<float>() + r * width);
        const std::pair<Tensor, Tensor> results[] = {{ops::rms_norm(x, w), ops::rms_norm(many, w)},
                                                     {ops::layer_norm(x, w, w), ops::layer_norm(many, w, w)}};
        for (const auto& [few, all] : results)
            for (std::int64_t r = 0; r < rows; ++r)
                ASSERT_TRUE(std::equal(few.data<float>() + r % 3 * width, few.data<float>() + (r % 3 + 1) * width,
                                       all.data<float>() + r * width))
                    << width << " wide, row " << r;
    }
}

// Evenly spaced with gaps, unevenly spaced, and all the same row: the bits are those of rows one after the other.
TEST(Norm, RowsMayLieAnyhow) {
    const Tensor all = random_tensor({6, 5, 96}, 3, -5, 5, DType::F32), w = random_tensor({48}, 5, -1, 1, DType::F32);
    const Tensor gaps = ops::slice(all, 2, 16, 64), uneven = ops::permute(gaps, {1, 0, 2});
    const Tensor same = ops::expand(ops::slice(ops::slice(gaps, 0, 2, 3), 1, 1, 2), {6, 5, 48});
    for (const Tensor& x : {gaps, uneven, same}) {
        const Tensor plain = x.clone(), other = random_tensor(x.shape(), 7, -1, 1, DType::F32);
        EXPECT_TRUE(same_bits(ops::rms_norm(x, w), ops::rms_norm(plain, w)));
        EXPECT_TRUE(same_bits(ops::layer_norm(x, w, w), ops::layer_norm(plain, w, w)));
        const auto here = ops::add_rms_norm(other, x, w), there = ops::add_rms_norm(other, plain, w);
        EXPECT_TRUE(same_bits(here.normed, there.normed));
        EXPECT_TRUE(same_bits(here.sum, there.sum));
    }
}

// Each gradient may be wanted alone; the bits are those of asking for all.
TEST(Norm, GradientsAreMadeOnDemand) {
    const Tensor gradient = random_tensor({40, 5}, 9, -1, 1, DType::F32);
    const auto gradients = [&](std::array<bool, 3> wanted) {
        std::array<Tensor, 3> in{random_tensor({40, 5}, 1, -1, 1, DType::F32), random_tensor({5}, 2, -1, 1, DType::F32),
                                 random_tensor({5}, 3, -1, 1, DType::F32)};
        for (std::size_t i = 0; i < 3; ++i) in[i].set_requires_grad(wanted[i]);
        backward({ops::layer_norm(in[0], in[1], in[2])}, {gradient});
        return in;
    };
    const auto all = gradients({true, true, true});
    EXPECT_TRUE(same_bits(gradients({true, false, false})[0].grad(), all[0].grad()));
    EXPECT_TRUE(same_bits(gradients({false, true, false})[1].grad(), all[1].grad()));
    EXPECT_TRUE(same_bits(gradients({false, false, true})[2].grad(), all[2].grad()));
}

TEST(Norm, EmptyRowsGiveZeroWeightGradients) {
    Tensor weight = Tensor::full({5}, 1);
    weight.set_requires_grad();
    const Tensor y = ops::rms_norm(Tensor::empty({0, 5}), weight);
    backward({y}, {Tensor::empty({0, 5})});
    EXPECT_EQ(weight.grad().to_vector<float>(), std::vector<float>(5, 0.0f));
}

TEST(Norm, BadInputSaysWhat) {
    const Tensor x = Tensor::empty({4, 7});
    expect_error([&] { ops::rms_norm(x, Tensor::empty({6})); }, {"rms_norm", "weight", "(6)", "(4, 7)"});
    expect_error([&] { ops::rms_norm(x, Tensor::empty({1, 7})); }, {"rms_norm", "(1, 7)"});
    expect_error([&] { ops::rms_norm(x, Tensor::empty({7}, DType::BF16)); }, {"rms_norm", "bf16", "f32"});
    expect_error([&] { ops::layer_norm(x, {}, Tensor::empty({8})); }, {"layer_norm", "bias", "(8)", "(4, 7)"});
    expect_error([&] { ops::add_rms_norm(x, Tensor::empty({7}), {}); }, {"add_rms_norm", "(4, 7)", "(7)"});
    expect_error(
        [&] {
            ops::add_layer_norm(x, Tensor::empty({4, 7}, DType::F16), {}, {});
        },
        {"add_layer_norm", "f32", "f16"});
    expect_error([] { ops::layer_norm(Tensor::scalar(1), {}, {}); }, {"layer_norm"});
    expect_error([] { ops::rms_norm(Tensor::empty({3}, DType::I32), {}); }, {"rms_norm", "i32"});
}

}  // namespace
}  // namespace tessera::testing
