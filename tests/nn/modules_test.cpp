#include <gtest/gtest.h>

#include <cmath>

#include "support/module_check.h"
#include "support/op_case.h"
#include "tessera/nn/embedding.h"
#include "tessera/nn/feed_forward.h"
#include "tessera/nn/linear.h"
#include "tessera/nn/norm.h"
#include "tessera/nn/patch_embedding.h"
#include "tessera/nn/rope.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/matmul.h"
#include "tessera/ops/norm.h"
#include "tessera/ops/unary.h"
#include "tessera/ops/views.h"

namespace tessera::nn {
namespace {

using testing::expect_gradients;
using testing::random_tensor;
using testing::randomise;
using testing::relative_error;
using testing::same_bits;
using testing::weighted_total;

struct Pair : Module {
    Pair() : first(3, 4), second(4, 2, false) {}
    void visit(const Visitor& visitor) override {
        visitor("first", first);
        visitor("inner", layers);
        visitor("second", second);
    }
    Linear first, second;
    std::vector<std::unique_ptr<Layer>> layers;
};

TEST(Module, VisitNamesEveryParameterOnce) {
    Pair pair;
    pair.layers.push_back(std::make_unique<RmsNorm>(4));
    pair.layers.push_back(std::make_unique<LayerNorm>(4));
    std::vector<std::string> names;
    for (const auto& [name, tensor] : parameters(pair)) names.push_back(name);
    EXPECT_EQ(names, (std::vector<std::string>{"first.weight", "first.bias", "inner.0.weight", "inner.1.weight",
                                               "inner.1.bias", "second.weight"}));
    EXPECT_EQ(parameter_count(pair), 3 * 4 + 4 + 4 + 4 + 4 + 4 * 2);
}

TEST(Module, ATiedTensorCountsOnce) {
    Pair pair;
    pair.second.weight = pair.first.weight;
    EXPECT_EQ(parameter_count(pair), 3 * 4 + 4);
}

TEST(Module, ParametersTakeNoMemoryUntilTheyAreInitialised) {
    const std::int64_t huge = std::int64_t{1} << 30;
    Linear linear(huge, huge);  // four exabytes
    EXPECT_EQ(parameter_count(linear), huge * huge + huge);
    try {
        linear.forward(Tensor::zeros({1, 4}));
        FAIL() << "a layer without weights ran";
    } catch (const Error& error) {
        SUCCEED() << error.what();
    }
}

TEST(Module, InitialValuesDependOnKeyAndNameAlone) {
    Pair a, b, c;
    b.layers.push_back(std::make_unique<RmsNorm>(4));  // another parameter between them changes nothing
    initialise(a, {.seed = 5});
    initialise(b, {.seed = 5});
    initialise(c, {.seed = 6});
    EXPECT_TRUE(same_bits(a.first.weight, b.first.weight));
    EXPECT_TRUE(same_bits(a.second.weight, b.second.weight));
    EXPECT_FALSE(same_bits(a.first.weight, c.first.weight));
    EXPECT_EQ(a.first.bias.to_vector<float>(), std::vector<float>(4, 0));
    EXPECT_EQ(static_cast<RmsNorm&>(*b.layers[0]).weight.to_vector<float>(), std::vector<float>(4, 1));
}

TEST(Module, InitialValuesSpreadAsTheirNamesSay) {
    struct Two : Module {
        void visit(const Visitor& visitor) override {
            visitor("a", a);
            visitor("b", b);
        }
        Linear a{100, 100}, b{100, 100};
    } module;
    initialise(module, {.seed = 3}, {.usual = 0.5, .others = {{"", "b.weight", 0.02}}});
    const auto deviation = [](const Tensor& weight) {
        double squares = 0;
        for (const float value : weight.to_vector<float>()) squares += value * value;
        return std::sqrt(squares / static_cast<double>(weight.elements()));
    };
    EXPECT_NEAR(deviation(module.a.weight), 0.5, 0.02);
    EXPECT_NEAR(deviation(module.b.weight), 0.02, 0.0008);
}

struct WithFixed : Module {
    void visit(const Visitor& visitor) override {
        visitor("inner", inner);
        visitor.fixed("table", table);
    }
    Linear inner{3, 2};
    Tensor table = Tensor::zeros({4});
};

TEST(Module, FixedTensorsAreKeptButNotLearned) {
    WithFixed module;
    initialise(module, {.seed = 1});
    ASSERT_EQ(parameters(module).size(), 3u);
    EXPECT_EQ(parameters(module)[2].name, "table");
    set_requires_grad(module, true);
    EXPECT_TRUE(module.inner.weight.requires_grad());
    EXPECT_FALSE(module.table.requires_grad());
}

TEST(Linear, EveryParameterLearns) {
    Linear linear(5, 3);
    randomise(linear);
    const Tensor x = random_tensor({4, 5}, 1);
    expect_gradients(linear, [&] { return weighted_total(linear.forward(x)); });
}

TEST(Embedding, LooksUpAndScoresWithOneTable) {
    Embedding table(7, 4);
    randomise(table);
    const Tensor ids = Tensor::from<std::int64_t>({3, 0, 3}, {3});
    const Tensor rows = table.forward(ids);
    EXPECT_TRUE(same_bits(ops::slice(rows.detach(), 0, 0, 1), ops::slice(table.weight.detach(), 0, 3, 4)));
    EXPECT_LE(relative_error(table.logits(rows), ops::matmul(rows, table.weight, {.transpose_b = true})), 1e-12);
    expect_gradients(table, [&] { return weighted_total(table.logits(table.forward(ids))); });
}

TEST(RmsNorm, OnePlusWeightAroundZeroIsPlainWeightAroundOne) {
    RmsNorm plain(6), shifted(6, 1e-6, NormWeight::OnePlus);
    randomise(plain);
    randomise(shifted);
    shifted.weight = ops::shift(plain.weight, -1);
    const Tensor x = random_tensor({3, 6}, 2);
    EXPECT_LE(relative_error(shifted.forward(x), plain.forward(x)), 1e-12);
    expect_gradients(plain, [&] { return weighted_total(plain.forward(x)); });
}

TEST(FeedForward, EveryKindIsItsFormulaAndLearns) {
    for (const Activation activation : {Activation::Relu, Activation::Gelu, Activation::GeluTanh, Activation::Silu})
        for (const bool gated : {false, true}) {
            FeedForward module({.width = 6, .hidden = 10, .activation = activation, .gated = gated});
            randomise(module);
            const Tensor x = random_tensor({3, 6}, 3);
            Tensor hidden = module.up.forward(x);
            hidden =
                gated ? ops::mul(activate(activation, module.gate.forward(x)), hidden) : activate(activation, hidden);
            EXPECT_LE(relative_error(module.forward(x), module.down.forward(hidden)), 1e-12);
            expect_gradients(module, [&] { return weighted_total(module.forward(x)); });
        }
}

TEST(FeedForward, DropsInsideInTrainingOnly) {
    FeedForward layer({.width = 5, .hidden = 7, .dropout = 0.5});
    randomise(layer);
    const Tensor x = random_tensor({3, 5}, 2);
    const Tensor plain = layer.forward(x);
    const Context training{.training = true, .key = {.seed = 3}};
    EXPECT_TRUE(same_bits(layer.forward(x, {.key = {.seed = 3}}), plain));
    EXPECT_FALSE(same_bits(layer.forward(x, training), plain));
    EXPECT_TRUE(same_bits(layer.forward(x, training), layer.forward(x, training)));
    expect_gradients(layer, [&] { return weighted_total(layer.forward(x, training)); });
}

TEST(PatchEmbedding, IsAConvolutionWhoseStrideIsItsKernel) {
    constexpr std::int64_t batch = 2, channels = 3, patch = 4, rows = 2, columns = 3, width = 5;
    PatchEmbedding module({.channels = channels, .patch = patch, .width = width});
    randomise(module);
    const Tensor pixels = random_tensor({batch, channels, rows * patch, columns * patch}, 4);
    const auto image = pixels.to_vector<double>(), weight = module.weight.to_vector<double>(),
               bias = module.bias.to_vector<double>();
    std::vector<double> expected;
    for (std::int64_t b = 0; b < batch; ++b)
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t column = 0; column < columns; ++column)
                for (std::int64_t out = 0; out < width; ++out) {
                    double sum = bias[static_cast<std::size_t>(out)];
                    for (std::int64_t c = 0; c < channels; ++c)
                        for (std::int64_t y = 0; y < patch; ++y)
                            for (std::int64_t x = 0; x < patch; ++x)
                                sum +=
                                    weight[static_cast<std::size_t>(((out * channels + c) * patch + y) * patch + x)] *
                                    image[static_cast<std::size_t>(
                                        ((b * channels + c) * rows * patch + row * patch + y) * columns * patch +
                                        column * patch + x)];
                    expected.push_back(sum);
                }
    EXPECT_LE(relative_error(module.forward(pixels), Tensor::from(expected, {batch, rows * columns, width})), 1e-12);
    expect_gradients(module, [&] { return weighted_total(module.forward(pixels)); });
    EXPECT_THROW(module.forward(random_tensor({1, channels, 7, 8}, 5)), Error);
    EXPECT_THROW(module.forward(random_tensor({1, 1, 8, 8}, 5)), Error);
}

}  // namespace
}  // namespace tessera::nn
