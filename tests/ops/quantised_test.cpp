// What the harness cannot say about quantised weights: several panels, views, and everything that must refuse them.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/quantised.h"
#include "tessera/core/parallel.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/experts.h"
#include "tessera/ops/gather.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/matmul.h"
#include "tessera/ops/unary.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

TEST(Quantised, TensorsDecodeAndEncode) {
    const Tensor dense = random_tensor({3, 2, 512}, 1, -1, 1, DType::F32);
    for (const DType dtype : quantised_dtypes) {
        const Tensor blocks = dense.to(dtype);
        EXPECT_TRUE(same_bits(blocks.to(DType::F32), decoded(blocks))) << name(dtype);
        EXPECT_LE(relative_error(blocks, dense), 0.12) << name(dtype);
        EXPECT_TRUE(same_bits(blocks.to(DType::BF16), decoded(blocks).to(DType::BF16)));
        EXPECT_TRUE(same_bits(dense.to(DType::F64).to(dtype).to(DType::F32), blocks.to(DType::F32)));
    }
}

TEST(Quantised, RowsMayBeViewed) {
    for (const DType dtype : quantised_dtypes) {
        const Tensor blocks = random_quantised({4, 6, 512}, 2, dtype), dense = decoded(blocks);
        const auto expect_same = [&](const auto& view) {
            EXPECT_TRUE(same_bits(view(blocks).to(DType::F32), view(dense).clone())) << name(dtype);
            EXPECT_TRUE(same_bits(view(blocks).clone().to(DType::F32), view(dense).clone())) << name(dtype);
        };
        expect_same([](const Tensor& x) { return ops::select(x, 0, 2); });
        expect_same([](const Tensor& x) { return ops::slice(x, 1, 1, 6, 2); });
        expect_same([](const Tensor& x) { return ops::transpose(x, 0, 1); });
        expect_same([](const Tensor& x) { return ops::slice(x, 2, 256, 512); });
        expect_same([](const Tensor& x) { return ops::reshape(ops::slice(x, 1, 0, 3), {12, 512}); });
    }
}

TEST(Quantised, BlocksAreNeverCut) {
    const Tensor blocks = random_quantised({4, 512}, 2, DType::Q4_K);
    expect_error([&] { ops::slice(blocks, 1, 0, 100).clone(); }, {"q4_k", "256"});
    expect_error([&] { ops::slice(blocks, 1, 100, 356).to(DType::F32); }, {"q4_k", "256"});
    expect_error([&] { ops::transpose(blocks, 0, 1).to(DType::F32); }, {"copy", "q4_k", "(512, 4)"});
    expect_error([&] { ops::reshape(blocks, {512, 4}).to(DType::F32); }, {"copy", "q4_k", "(512, 4)"});
    expect_error([&] { Tensor::zeros({2, 100}).to(DType::Q4_K); }, {"q4_k", "200", "256"});
    expect_error([&] { blocks.to(DType::I64); }, {"copy", "i64"});
}

TEST(Quantised, LinearDecodesLargeWeightsPieceByPiece) {
    const Tensor weight = random_quantised({3000, 768}, 3, DType::Q6_K), dense = decoded(weight);
    for (const std::int64_t rows : {1, 5, 40}) {
        Tensor x = random_tensor({rows, 768}, 4, -1, 1, DType::F32), plain_x = x.clone();
        x.set_requires_grad();
        plain_x.set_requires_grad();
        const Tensor gradient = random_tensor({rows, 3000}, 5, -1, 1, DType::F32);
        const Tensor y = ops::linear(x, weight), expected = ops::linear(plain_x, dense);
        backward({y}, {gradient});
        backward({expected}, {gradient});
        EXPECT_LE(relative_error(y, expected), 1e-6);
        EXPECT_LE(relative_error(x.grad(), plain_x.grad()), 1e-6);
    }
}

TEST(Quantised, LinearHasTheSameBitsAtAnyThreadCount) {
    const Tensor weight = random_quantised({3000, 768}, 3, DType::Q5_0);
    for (const std::int64_t rows : {1, 9, 40}) {
        const Tensor gradient = random_tensor({rows, 3000}, 5, -1, 1, DType::F32);
        const auto run = [&](int threads) {
            set_thread_count(threads);
            Tensor x = random_tensor({rows, 768}, 4, -1, 1, DType::F32);
            x.set_requires_grad();
            const Tensor y = ops::linear(x, weight);
            backward({y}, {gradient});
            return std::pair(y, x.grad());
        };
        const int threads = thread_count();
        const auto one = run(1), two = run(2);
        set_thread_count(threads);
        EXPECT_TRUE(same_bits(one.first, two.first));
        EXPECT_TRUE(same_bits(one.second, two.second));
    }
}

TEST(Quantised, LinearTakesEverySixteenBitFloat) {
    const Tensor weight = random_quantised({30, 64}, 3, DType::Q4_0);
    const Tensor x = random_tensor({5, 64}, 4), bias = random_tensor({30}, 5);
    for (const DType dtype : {DType::BF16, DType::F16}) {
        const Tensor y = ops::linear(x.to(dtype), weight, bias.to(dtype));
        EXPECT_EQ(y.dtype(), dtype);
        // One rounding of the result: the weights are never rounded to 16 bits.
        const Tensor exact =
            ops::linear(x.to(dtype).to(DType::F64), decoded(weight).to(DType::F64), bias.to(dtype).to(DType::F64));
        EXPECT_LE(relative_error(y, exact), dtype == DType::BF16 ? 0x1p-8 : 0x1p-11);
    }
}

TEST(Quantised, LinearTakesSlicesOfRows) {
    const Tensor weight = random_quantised({8, 96}, 3, DType::Q8_0);
    const Tensor x = random_tensor({2, 96}, 4, -1, 1, DType::F32);
    const Tensor whole = ops::linear(x, weight), part = ops::linear(x, ops::slice(weight, 0, 2, 8, 3));
    EXPECT_LE(relative_error(ops::slice(part, 1, 0, 1), ops::slice(whole, 1, 2, 3)), 1e-6);
    EXPECT_LE(relative_error(ops::slice(part, 1, 1, 2), ops::slice(whole, 1, 5, 6)), 1e-6);
}

TEST(Quantised, EmptyProducts) {
    const Tensor weight = random_quantised({3, 32}, 3, DType::Q8_0);
    EXPECT_EQ(ops::linear(Tensor::zeros({0, 32}), weight).shape(), Shape({0, 3}));
    Tensor x = Tensor::zeros({2, 32});
    x.set_requires_grad();
    const Tensor y = ops::linear(x, ops::slice(weight, 0, 0, 0));
    EXPECT_EQ(y.shape(), Shape({2, 0}));
    backward({y}, {Tensor::zeros({2, 0})});
    EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(64, 0.0f));
}

TEST(Quantised, WhatDoesNotFitIsRefused) {
    Tensor weight = random_quantised({3, 64}, 3, DType::Q4_1);
    const Tensor x = Tensor::zeros({2, 64}), y = Tensor::zeros({3, 64});
    expect_error([&] { ops::linear(Tensor::zeros({2, 32}), weight); }, {"linear", "(2, 32)", "(3, 64)"});
    expect_error([&] { ops::linear(Tensor::zeros({2, 64}, DType::I64), weight); }, {"linear", "i64", "q4_1"});
    expect_error([&] { ops::linear(weight, weight); }, {"linear", "q4_1"});
    expect_error([&] { ops::linear(x, weight, Tensor::zeros({3}, DType::F64)); }, {"linear", "f32", "f64"});
    expect_error([&] { ops::linear(Tensor::zeros({2, 3}), ops::transpose(weight, 0, 1)); }, {"q4_1", "(64, 3)"});
    expect_error([&] { weight.set_requires_grad(); }, {"q4_1", "cannot have a gradient"});
    expect_error([&] { ops::matmul(x, weight, {.transpose_b = true}); }, {"matmul", "f32", "q4_1"});
    expect_error([&] { ops::add(y, weight); }, {"add", "q4_1"});
    expect_error([&] { ops::exp(weight); }, {"exp", "q4_1"});
    expect_error([&] { weight.fill(1); }, {"fill", "q4_1"});
}

TEST(Quantised, EmbeddingReadsEveryDtype) {
    const Tensor ids = Tensor::from({std::int64_t{5}, std::int64_t{0}, std::int64_t{2}}, {3});
    for (const DType dtype : quantised_dtypes) {
        const Tensor table = random_quantised({6, 512}, 2, dtype);
        EXPECT_TRUE(same_bits(ops::embedding(table, ids), ops::embedding(decoded(table), ids))) << name(dtype);
        const Tensor every_other = ops::slice(table, 0, 0, 6, 2), low = ops::slice(ids, 0, 1, 3);
        EXPECT_TRUE(
            same_bits(ops::embedding(every_other, low), ops::embedding(ops::slice(decoded(table), 0, 0, 6, 2), low)));
    }
}

}  // namespace
}  // namespace tessera::testing
