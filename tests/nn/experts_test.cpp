#include "tessera/nn/experts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/module_check.h"
#include "support/op_case.h"
#include "tessera/nn/attention/dot_product.h"
#include "tessera/nn/blocks/stack.h"
#include "tessera/nn/norm.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/softmax.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::nn {
namespace {

using testing::expect_gradients;
using testing::random_tensor;
using testing::randomise;
using testing::relative_error;
using testing::same_bits;
using testing::weighted_total;

constexpr std::int64_t expert_width = 6, hidden = 10, count = 4;

// One expert as an ordinary gated network.
Tensor expert(const Experts& module, std::int64_t index, const Tensor& x) {
    FeedForward one(
        {.width = expert_width, .hidden = hidden, .activation = Activation::Silu, .gated = true, .has_bias = false});
    one.gate.weight = ops::select(module.gate, 0, index);
    one.up.weight = ops::select(module.up, 0, index);
    one.down.weight = ops::select(module.down, 0, index);
    return one.forward(x);
}

// The definition, token by token: the k most probable experts, weighted by their probabilities.
Tensor by_token(const Experts& module, const Tensor& x, std::int64_t k, bool normalise, double scaling) {
    const Tensor probabilities = ops::softmax(module.router.forward(x));
    std::vector<Tensor> rows;
    for (std::int64_t token = 0; token < x.size(0); ++token) {
        const Tensor row = ops::slice(x, 0, token, token + 1);
        const auto p = ops::slice(probabilities, 0, token, token + 1).to_vector<double>();
        std::vector<std::int64_t> order(p.size());
        for (std::size_t i = 0; i < p.size(); ++i) order[i] = static_cast<std::int64_t>(i);
        std::sort(order.begin(), order.end(),
                  [&](auto a, auto b) { return p[static_cast<std::size_t>(a)] > p[static_cast<std::size_t>(b)]; });
        double total = 0;
        for (std::int64_t i = 0; i < k; ++i) total += p[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])];
        Tensor sum = Tensor::zeros({1, expert_width}, DType::F64);
        for (std::int64_t i = 0; i < k; ++i) {
            const std::int64_t chosen = order[static_cast<std::size_t>(i)];
            const double weight = p[static_cast<std::size_t>(chosen)] * scaling / (normalise ? total : 1);
            sum = ops::add(sum, ops::scale(expert(module, chosen, row), weight));
        }
        rows.push_back(sum);
    }
    return ops::concat(rows, 0);
}

TEST(Experts, AreTheirDefinitionTokenByToken) {
    for (const bool normalise : {true, false}) {
        Experts module({.width = expert_width,
                        .hidden = hidden,
                        .experts = count,
                        .routing = {.k = 2, .normalise = normalise, .scaling = 1.5}});
        randomise(module);
        const Tensor x = random_tensor({17, expert_width}, 3, -3, 3);
        const NoGrad no_grad;
        EXPECT_LE(relative_error(module.forward(x), by_token(module, x, 2, normalise, 1.5)), 1e-12);
    }
}

TEST(Experts, SharedExpertsSeeEveryToken) {
    Experts module(
        {.width = expert_width, .hidden = hidden, .experts = count, .shared_hidden = 8, .routing = {.k = 2}});
    randomise(module);
    const Tensor x = random_tensor({5, expert_width}, 3, -3, 3);
    const NoGrad no_grad;
    const Tensor routed = by_token(module, x, 2, false, 1);
    EXPECT_LE(relative_error(module.forward(x), ops::add(routed, module.shared->forward(x))), 1e-12);
}

TEST(Experts, RouterAndExpertsLearn) {
    Experts module({.width = expert_width,
                    .hidden = hidden,
                    .experts = count,
                    .shared_hidden = 8,
                    .routing = {.k = 2, .normalise = true}});
    randomise(module);
    const Tensor x = random_tensor({2, 9, expert_width}, 4, -3, 3);
    expect_gradients(module, [&] { return weighted_total(module.forward(x)); });
}

TEST(Experts, ChoosingAllOfThemIsTheWholeMixture) {
    Experts module({.width = expert_width, .hidden = hidden, .experts = count, .routing = {.k = count}});
    randomise(module);
    const Tensor x = random_tensor({5, expert_width}, 5, -3, 3);
    const NoGrad no_grad;
    EXPECT_LE(relative_error(module.forward(x), by_token(module, x, count, false, 1)), 1e-12);
}

TEST(Experts, RouterChoicesReachTheContextOnceWithOrWithoutRecompute) {
    std::vector<std::unique_ptr<Block>> blocks;
    for (int i = 0; i < 2; ++i) {
        BlockParts parts;
        parts.attention = std::make_unique<DotProductAttention>(DotProductSettings{.width = expert_width, .heads = 2});
        parts.feed_forward = std::make_unique<Experts>(ExpertsSettings{
            .width = expert_width, .hidden = hidden, .experts = count, .routing = {.k = 2, .normalise = true}});
        parts.attention_norm = std::make_unique<RmsNorm>(expert_width);
        parts.feed_forward_norm = std::make_unique<RmsNorm>(expert_width);
        blocks.push_back(std::make_unique<PreNormBlock>(std::move(parts)));
    }
    Stack stack(std::move(blocks), nullptr);
    randomise(stack);
    const Tensor x = random_tensor({1, 7, expert_width}, 6);
    const auto gradients = [&](bool recompute) {
        for (const auto& [name, tensor] : parameters(stack)) tensor->set_grad({});
        std::vector<RouterChoice> choices;
        const Tensor out = stack.forward(x, {.mask = ops::AttentionMask::causal(),
                                             .training = true,
                                             .recompute = recompute,
                                             .router_choices = &choices});
        EXPECT_EQ(choices.size(), 2u);
        Tensor loss = weighted_total(out);
        for (const RouterChoice& choice : choices) {
            const auto chosen = ops::route(choice.logits, {.k = 2}).indices.to_vector<std::int64_t>();
            EXPECT_EQ(choice.indices.to_vector<std::int64_t>(), chosen);
            loss = ops::add(loss, ops::load_balancing_loss(choice.logits, choice.indices));
        }
        backward(loss);
        EXPECT_EQ(choices.size(), 2u);  // running again adds nothing
        std::vector<Tensor> found;
        for (const auto& [name, tensor] : parameters(stack)) found.push_back(tensor->grad());
        return found;
    };
    const auto kept = gradients(false), again = gradients(true);
    for (std::size_t i = 0; i < kept.size(); ++i)
        EXPECT_LE(relative_error(again[i], kept[i]), 1e-12) << parameters(stack)[i].name;
}

}  // namespace
}  // namespace tessera::nn
