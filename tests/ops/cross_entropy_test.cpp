#include "tessera/ops/cross_entropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/expect_error.h"
#include "support/op_case.h"
#include "tessera/core/memory.h"
#include "tessera/ops/linear.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

using Targets = std::vector<std::int64_t>;

TEST(CrossEntropy, AllIgnoredGivesZeroAndNoGradient) {
    Tensor logits = random_tensor({3, 5}, 1), x = random_tensor({3, 4}, 2), weight = random_tensor({5, 4}, 3);
    for (Tensor* leaf : {&logits, &x, &weight}) leaf->set_requires_grad();
    const Tensor targets = Tensor::from(Targets{-100, -100, -100}, {3});
    for (const Tensor& loss :
         {ops::cross_entropy(logits, targets, {.z_loss = 1}), ops::linear_cross_entropy(x, weight, targets)}) {
        EXPECT_EQ(loss.item(), 0);
        backward(loss);
    }
    for (const Tensor* leaf : {&logits, &x, &weight})
        for (const double value : leaf->grad().to_vector<double>()) EXPECT_EQ(value, 0);
}

TEST(CrossEntropy, NoRowsGiveZero) {
    EXPECT_EQ(ops::cross_entropy(Tensor::zeros({0, 5}), Tensor::zeros({0}, DType::I64)).item(), 0);
    EXPECT_EQ(
        ops::linear_cross_entropy(Tensor::zeros({0, 4}), Tensor::zeros({5, 4}), Tensor::zeros({0}, DType::I64)).item(),
        0);
}

TEST(CrossEntropy, ErrorsNameTheTargetAndTheVocabulary) {
    const Tensor logits = Tensor::zeros({2, 5}), bad = Tensor::from(Targets{1, 7}, {2});
    expect_error([&] { ops::cross_entropy(logits, bad); }, {"cross_entropy", "7", "5"});
    expect_error([&] { ops::cross_entropy(logits, Tensor::from(Targets{1, -1}, {2})); }, {"-1", "5"});
    expect_error([&] { ops::linear_cross_entropy(Tensor::zeros({2, 3}), Tensor::zeros({5, 3}), bad); }, {"7", "5"});
    expect_error([&] { ops::cross_entropy(logits, Tensor::from(Targets{1}, {1})); }, {"(1)", "(2, 5)"});
    expect_error([&] { ops::cross_entropy(logits, Tensor::zeros({2})); }, {"i64", "f32"});
    expect_error(
        [&] {
            ops::linear_cross_entropy(Tensor::zeros({2, 3}), Tensor::zeros({5, 4}), bad);
        },
        {"(2, 3)", "(5, 4)"});
}

TEST(CrossEntropy, HugeLogitsDoNotOverflow) {
    const Tensor logits = Tensor::from({1e4f, 0.0f, -1e4f, 1e30f, 1e30f, -1e30f}, {2, 3});
    EXPECT_NEAR(ops::cross_entropy(logits, Tensor::from(Targets{1, 0}, {2}), {.reduction = ops::Reduction::Sum}).item(),
                1e4 + std::log(2.0), 1e-2);
}

TEST(CrossEntropy, ForbiddenClassesTakeNoPart) {
    const float never = -std::numeric_limits<float>::infinity();
    Tensor logits = Tensor::from({never, 1.0f, 1.0f, never}, {1, 4});
    logits.set_requires_grad();
    const Tensor loss = ops::cross_entropy(logits, Tensor::from(Targets{1}, {1}));
    EXPECT_NEAR(loss.item(), std::log(2.0), 1e-6);
    backward(loss);
    const auto gradient = logits.grad().to_vector<double>(), expected = std::vector<double>{0, -0.5, 0.5, 0};
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(gradient[i], expected[i], 1e-6);
}

TEST(CrossEntropy, NotANumberShows) {
    for (const std::int64_t where : {0, 17, 32, 2500}) {
        Tensor logits = random_tensor({1, 2600}, 1).to(DType::F32);
        logits.data<float>()[where] = std::numeric_limits<float>::quiet_NaN();
        EXPECT_TRUE(std::isnan(ops::cross_entropy(logits, Tensor::from(Targets{3}, {1})).item())) << where;
    }
}

TEST(LinearCrossEntropy, NeverHoldsAllLogits) {
    const std::int64_t rows = 1024, width = 16, vocabulary = 8192;
    Tensor x = random_tensor({rows, width}, 1).to(DType::F32),
           weight = random_tensor({vocabulary, width}, 2).to(DType::F32);
    x.set_requires_grad();
    weight.set_requires_grad();
    const Tensor targets = Tensor::full({rows}, 5, DType::I64);
    const std::int64_t all_logits = rows * vocabulary * 4;
    const std::int64_t before = memory_stats(cpu).bytes_in_use;
    reset_peak(cpu);
    const Tensor loss = ops::linear_cross_entropy(x, weight, targets, {.chunk = 64});
    backward(loss);
    EXPECT_LT(memory_stats(cpu).peak_bytes - before, all_logits / 8);
    EXPECT_TRUE(x.grad().defined() && weight.grad().defined());
}

TEST(LinearCrossEntropy, WithoutRecordingGivesTheSameLoss) {
    Tensor x = random_tensor({20, 16}, 1), weight = random_tensor({50, 16}, 2);
    x.set_requires_grad();
    const Tensor targets = Tensor::full({20}, 5, DType::I64);
    const double recorded = ops::linear_cross_entropy(x, weight, targets, {.chunk = 7}).item();
    const NoGrad no_grad;
    EXPECT_EQ(ops::linear_cross_entropy(x, weight, targets, {.chunk = 7}).item(), recorded);
    EXPECT_NEAR(ops::cross_entropy(ops::linear(x, weight), targets).item(), recorded, 1e-12);
}

}  // namespace
}  // namespace tessera::testing
