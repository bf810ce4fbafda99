// Training in bf16: an f32 x under a bf16 weight that learns. Each product takes factors rounded once to bf16 and sums
// them in f32, so it is the exact product of the rounded factors, to f32's rounding.
#include <gtest/gtest.h>

#include "support/op_case.h"
#include "tessera/ops/cross_entropy.h"
#include "tessera/ops/experts.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/matmul.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

Tensor rounded(const Tensor& x) { return x.detach().to(DType::BF16).to(DType::F64); }

Tensor learning(const Shape& shape, std::uint64_t seed, DType dtype) {
    Tensor out = random_tensor(shape, seed, -1, 1, dtype);
    out.set_requires_grad();
    return out;
}

TEST(MixedPrecision, LinearMultipliesRoundedFactorsForwardAndBackward) {
    for (const std::int64_t rows : {1, 3, 70}) {
        const Tensor x = learning({rows, 40}, 1, DType::F32), weight = learning({30, 40}, 2, DType::BF16);
        const Tensor gradient = random_tensor({rows, 30}, 3, -1, 1, DType::F32);
        const Tensor y = ops::linear(x, weight);
        EXPECT_EQ(y.dtype(), DType::F32);
        EXPECT_LE(relative_error(y, ops::matmul(rounded(x), rounded(weight), {.transpose_b = true})), 1e-6);
        backward({y}, {gradient});
        EXPECT_EQ(x.grad().dtype(), DType::F32);
        EXPECT_LE(relative_error(x.grad(), ops::matmul(rounded(gradient), rounded(weight))), 1e-6);
        // The weight's gradient is kept in the weight's own dtype where nobody gave it a buffer of f32.
        EXPECT_LE(relative_error(weight.grad(), ops::matmul(rounded(gradient), rounded(x), {.transpose_a = true})),
                  0x1p-8);
    }
}

// What goes into further products may be bf16 at once, and what comes back from them leaves as f32.
TEST(MixedPrecision, LinearGivesTheDtypeAskedFor) {
    for (const std::int64_t rows : {1, 3, 70}) {
        const Tensor x = learning({rows, 40}, 1, DType::F32), weight = learning({30, 40}, 2, DType::BF16);
        const Tensor y = ops::linear(x, weight, {}, DType::BF16);
        EXPECT_EQ(y.dtype(), DType::BF16);
        EXPECT_TRUE(same_bits(y, ops::linear(x, weight).to(DType::BF16)));
        const Tensor gradient = random_tensor({rows, 30}, 3, -1, 1, DType::BF16);
        backward({y}, {gradient});
        EXPECT_EQ(x.grad().dtype(), DType::F32);
        EXPECT_LE(relative_error(x.grad(), ops::matmul(rounded(gradient), rounded(weight))), 1e-6);

        const Tensor narrow = learning({rows, 40}, 1, DType::BF16);
        const Tensor wide = ops::linear(narrow, weight, {}, DType::F32);
        EXPECT_EQ(wide.dtype(), DType::F32);
        EXPECT_LE(relative_error(wide, ops::matmul(rounded(narrow), rounded(weight), {.transpose_b = true})), 1e-6);
        backward({wide}, {gradient.to(DType::F32)});
        EXPECT_EQ(narrow.grad().dtype(), DType::BF16);
        EXPECT_LE(relative_error(narrow.grad(), ops::matmul(rounded(gradient), rounded(weight))), 0x1p-8);
    }
}

TEST(MixedPrecision, ARestingWeightLeavesXAsItIs) {
    const Tensor x = random_tensor({50, 40}, 1, -1, 1, DType::F32), weight = random_tensor({30, 40}, 2).to(DType::BF16);
    const Tensor exact = ops::matmul(x.to(DType::F64), rounded(weight), {.transpose_b = true});
    EXPECT_LE(relative_error(ops::linear(x, weight), exact), 1e-6);
}

TEST(MixedPrecision, RecomputedProductsAreTheFirstOnes) {
    const Tensor x = learning({50, 40}, 1, DType::F32), weight = learning({30, 40}, 2, DType::BF16);
    const Tensor recorded = ops::linear(x, weight);
    const NoGrad no_grad;
    EXPECT_TRUE(same_bits(recorded, ops::linear(x, weight)));
}

TEST(MixedPrecision, ExpertsMultiplyRoundedFactors) {
    const Tensor choices = Tensor::from(std::vector<std::int64_t>{1, 0, 1, 1, 0, 1}, {6, 1});
    const ops::ExpertPlan plan = ops::plan_experts(choices, 2);
    const Tensor x = learning({6, 8}, 1, DType::F32), weight = learning({2, 5, 8}, 2, DType::BF16);
    const Tensor gradient = random_tensor({6, 5}, 3, -1, 1, DType::F32);
    const Tensor y = ops::grouped_linear(x, weight, plan);
    backward({y}, {gradient});
    const auto part = [](const Tensor& rows, bool first) {
        return first ? ops::slice(rows, 0, 0, 2) : ops::slice(rows, 0, 2, 6);
    };
    for (const bool first : {true, false}) {
        const Tensor own = rounded(ops::select(weight.detach(), 0, first ? 0 : 1));
        const Tensor in = rounded(part(x.detach(), first)), back = rounded(part(gradient, first));
        EXPECT_LE(relative_error(part(y.detach(), first), ops::matmul(in, own, {.transpose_b = true})), 1e-6);
        EXPECT_LE(relative_error(part(x.grad(), first), ops::matmul(back, own)), 1e-6);
        EXPECT_LE(
            relative_error(ops::select(weight.grad(), 0, first ? 0 : 1), ops::matmul(back, in, {.transpose_a = true})),
            0x1p-8);
    }
}

TEST(MixedPrecision, TheLossOfALargeVocabularyTakesRoundedFactors) {
    const Tensor x = learning({20, 16}, 1, DType::F32), weight = learning({50, 16}, 2, DType::BF16);
    std::vector<std::int64_t> classes(20);
    for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<std::int64_t>(7 * i % 50);
    const Tensor targets = Tensor::from(classes, {20});
    Tensor wide_x = rounded(x), wide_weight = rounded(weight);
    wide_x.set_requires_grad();
    wide_weight.set_requires_grad();
    const Tensor exact = ops::linear_cross_entropy(wide_x, wide_weight, targets, {});
    const Tensor loss = ops::linear_cross_entropy(x, weight, targets, {.chunk = 7});
    EXPECT_LE(relative_error(loss, exact), 1e-6);
    backward({exact}, {Tensor::full({}, 1, DType::F64)});
    backward({loss}, {Tensor::full({}, 1, DType::F32)});
    EXPECT_LE(relative_error(x.grad(), wide_x.grad()), 1e-2);
    EXPECT_LE(relative_error(weight.grad(), wide_weight.grad()), 1e-2);
}

}  // namespace
}  // namespace tessera::testing
