#include "tessera/ops/linear.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.h"
#include "support/op_case.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

TEST(Linear, ErrorsNameTheShapes) {
    expect_error([] { ops::linear(Tensor::zeros({2, 3}), Tensor::zeros({5, 4})); }, {"linear", "(2, 3)", "(5, 4)"});
    expect_error(
        [] {
            ops::linear(Tensor::zeros({2, 4}), Tensor::zeros({5, 4}), Tensor::zeros({4}));
        },
        {"linear", "(4)", "(5, 4)"});
}

TEST(Linear, EmptyDimensions) {
    const Tensor bias = Tensor::from({1.0f, 2.0f, 3.0f}, {3});
    EXPECT_EQ(ops::linear(Tensor::zeros({2, 0}), Tensor::zeros({3, 0}), bias).to_vector<float>(),
              std::vector<float>({1, 2, 3, 1, 2, 3}));
    Tensor x = Tensor::zeros({0, 4}), weight = Tensor::full({3, 4}, 1);
    weight.set_requires_grad();
    const Tensor y = ops::linear(x, weight);
    backward({y}, {Tensor::zeros({0, 3})});
    EXPECT_EQ(weight.grad().to_vector<float>(), std::vector<float>(12, 0.0f));
}

TEST(Linear, Float16GoesThroughFloat) {
    for (const std::int64_t rows : {2, 40}) {
        const Tensor x = random_tensor({rows, 70}, 1).to(DType::F16),
                     weight = random_tensor({50, 70}, 2).to(DType::F16);
        const Tensor bias = random_tensor({50}, 3).to(DType::F16);
        const Tensor expected = ops::linear(x.to(DType::F64), weight.to(DType::F64), bias.to(DType::F64));
        EXPECT_LE(relative_error(ops::linear(x, weight, bias), expected), 1e-3);
    }
}

TEST(Linear, NonFiniteValuesReachOnlyTheirRows) {
    const Tensor x = random_tensor({20, 33}, 1).to(DType::F32), weight = random_tensor({17, 33}, 2).to(DType::F32);
    x.data<float>()[5 * 33 + 2] = NAN;
    const Tensor y = ops::linear(x, weight);
    for (std::int64_t i = 0; i < y.elements(); ++i) EXPECT_EQ(std::isnan(y.data<float>()[i]), i / 17 == 5);
}

// What waits for backward in bf16, and what is decoded: in one op as one by one, whichever results have a gradient.
TEST(Linear, NarrowWeightsSideBySideAreThoseOfEach) {
    for (const DType narrow : {DType::BF16, DType::Q8_0})
        for (const std::vector<std::size_t>& used : {std::vector<std::size_t>{0, 1}, {0}, {1}}) {
            const auto made = [&](bool side_by_side) {
                Tensor x = random_tensor({3, 5, 64}, 1).to(DType::F32);
                x.set_requires_grad();
                ops::LinearMap maps[] = {{random_tensor({32, 64}, 2).to(DType::F32).to(narrow)},
                                         {random_tensor({48, 64}, 3).to(DType::F32).to(narrow)}};
                if (narrow == DType::BF16)
                    for (ops::LinearMap& map : maps) map.weight.set_requires_grad();
                const Tensors y = side_by_side
                                      ? ops::linear(x, maps)
                                      : Tensors{ops::linear(x, maps[0].weight), ops::linear(x, maps[1].weight)};
                Tensors outputs, gradients, seen{y[0].detach(), y[1].detach()};
                for (const std::size_t i : used) {
                    outputs.push_back(y[i]);
                    gradients.push_back(random_tensor(y[i].shape(), 4 + i).to(DType::F32));
                }
                backward(outputs, gradients);
                seen.push_back(x.grad());
                if (narrow == DType::BF16)
                    for (const std::size_t i : used) seen.push_back(maps[i].weight.grad());
                return seen;
            };
            const Tensors together = made(true), apart = made(false);
            ASSERT_EQ(together.size(), apart.size());
            EXPECT_TRUE(same_bits(together[0], apart[0]) && same_bits(together[1], apart[1])) << text_of(narrow);
            for (std::size_t i = 2; i < together.size(); ++i)
                EXPECT_LE(relative_error(together[i], apart[i]), 1e-6) << text_of(narrow, ", ", i);
        }
}

TEST(Linear, WeightsOfTwoKindsDoNotGoSideBySide) {
    Tensor learned = Tensor::zeros({4, 6}, DType::BF16);
    learned.set_requires_grad();
    const ops::LinearMap maps[] = {{learned}, {Tensor::zeros({4, 6})}};
    expect_error([&] { ops::linear(Tensor::zeros({2, 6}), maps); }, {"linear", "bf16", "f32"});
    expect_error([&] { ops::linear(Tensor::zeros({2, 6}), std::span<const ops::LinearMap>()); }, {"linear"});
}

TEST(Linear, GradientsNobodyWantsAreNotComputed) {
    Tensor weight = random_tensor({4, 3}, 1);
    weight.set_requires_grad();
    const Tensor x = random_tensor({2, 3}, 2);
    backward({ops::linear(x, weight)}, {Tensor::full({2, 4}, 1, DType::F64)});
    EXPECT_FALSE(x.requires_grad());
    EXPECT_TRUE(weight.grad().defined());
}

}  // namespace
}  // namespace tessera::testing
