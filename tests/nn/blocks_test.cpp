#include <gtest/gtest.h>

#include "support/module_check.h"
#include "support/op_case.h"
#include "tessera/nn/attention/dot_product.h"
#include "tessera/nn/blocks/block.h"
#include "tessera/nn/blocks/cross_block.h"
#include "tessera/nn/blocks/stack.h"
#include "tessera/nn/feed_forward.h"
#include "tessera/nn/norm.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/concat.h"
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

constexpr std::int64_t block_width = 12;
const Context causal{.mask = ops::AttentionMask::causal()};

std::unique_ptr<DotProductAttention> attention(double dropout = 0) {
    return std::make_unique<DotProductAttention>(DotProductSettings{
        .width = block_width, .heads = 3, .kv_heads = 1, .rope = RopeSettings{.rotary_width = 4}, .dropout = dropout});
}
std::unique_ptr<PositionWise> feed_forward() {
    return std::make_unique<FeedForward>(
        FeedForwardSettings{.width = block_width, .hidden = 20, .activation = Activation::Silu, .gated = true});
}
std::unique_ptr<Norm> norm() { return std::make_unique<RmsNorm>(block_width); }

BlockParts parts(bool sandwich = false, double dropout = 0) {
    BlockParts made{attention(dropout), feed_forward(), norm(), norm(), nullptr, nullptr, dropout};
    if (sandwich) {
        made.after_attention_norm = norm();
        made.after_feed_forward_norm = norm();
    }
    return made;
}

// The block's formula, from the same parts.
template <class B>
struct Opened : B {
    using B::B;
    const BlockParts& inside() const { return this->parts_; }
    Tensor a(const Tensor& x) const { return inside().attention->forward(x, causal); }
    Tensor f(const Tensor& x) const { return inside().feed_forward->forward(x, causal); }
    Tensor n1(const Tensor& x) const { return inside().attention_norm->forward(x); }
    Tensor n2(const Tensor& x) const { return inside().feed_forward_norm->forward(x); }
};

template <class B>
void expect_formula(Opened<B>& block, const std::function<Tensor(const Tensor&)>& formula) {
    randomise(block);
    const Tensor x = random_tensor({2, 5, block_width}, 3);
    EXPECT_LE(relative_error(block.forward(x, causal), formula(x)), 1e-12);
    expect_gradients(block, [&] { return weighted_total(block.forward(x, causal)); });
}

TEST(Norm, OfASumIsTheNormOfThatSum) {
    const Tensor x = random_tensor({2, 3, block_width}, 1, -1, 1, DType::F32);
    const Tensor residual = random_tensor({2, 3, block_width}, 2, -1, 1, DType::F32);
    LayerNorm layer(block_width);
    RmsNorm plain(block_width), shifted(block_width, 1e-5, NormWeight::OnePlus);
    for (Norm* norm : std::initializer_list<Norm*>{&layer, &plain, &shifted}) {
        randomise(*norm);
        const ops::AddNorm both = norm->add_forward(x, residual);
        EXPECT_TRUE(same_bits(both.sum, ops::add(x, residual)));
        EXPECT_TRUE(same_bits(both.normed, norm->forward(both.sum)));
    }
}

TEST(Block, PreNorm) {
    Opened<PreNormBlock> block(parts());
    expect_formula(block, [&](const Tensor& x) {
        const Tensor y = ops::add(x, block.a(block.n1(x)));
        return ops::add(y, block.f(block.n2(y)));
    });
}

TEST(Block, PostNorm) {
    Opened<PostNormBlock> block(parts());
    expect_formula(block, [&](const Tensor& x) {
        const Tensor y = block.n1(ops::add(x, block.a(x)));
        return block.n2(ops::add(y, block.f(y)));
    });
}

TEST(Block, ParallelWithTwoNormsAndWithOne) {
    Opened<ParallelBlock> two(parts());
    expect_formula(two, [&](const Tensor& x) { return ops::add(x, ops::add(two.a(two.n1(x)), two.f(two.n2(x)))); });
    BlockParts shared = parts();
    shared.feed_forward_norm.reset();
    Opened<ParallelBlock> one(std::move(shared));
    expect_formula(one, [&](const Tensor& x) { return ops::add(x, ops::add(one.a(one.n1(x)), one.f(one.n1(x)))); });
}

TEST(Block, Sandwich) {
    Opened<SandwichBlock> block(parts(true));
    expect_formula(block, [&](const Tensor& x) {
        const Tensor y = ops::add(x, block.inside().after_attention_norm->forward(block.a(block.n1(x))));
        return ops::add(y, block.inside().after_feed_forward_norm->forward(block.f(block.n2(y))));
    });
}

Stack three_blocks(double dropout = 0) {
    std::vector<std::unique_ptr<Block>> blocks;
    for (int i = 0; i < 3; ++i) blocks.push_back(std::make_unique<PreNormBlock>(parts(false, dropout)));
    return {std::move(blocks), norm()};
}

TEST(Stack, PrefillIsTokenByToken) {
    Stack stack = three_blocks();
    randomise(stack);
    const Tensor x = random_tensor({2, 9, block_width}, 4);
    const Tensor whole = stack.forward(x, causal).detach();
    const NoGrad no_grad;
    StackCache cache = stack.make_cache(9);
    std::vector<Tensor> outputs{stack.forward(ops::slice(x, 1, 0, 4), causal, &cache)};
    for (std::int64_t i = 4; i < 9; ++i) outputs.push_back(stack.forward(ops::slice(x, 1, i, i + 1), causal, &cache));
    EXPECT_LE(relative_error(ops::concat(outputs, 1), whole), 1e-12);
    EXPECT_EQ(cache_bytes(cache), 3 * 2 * 2 * 9 * 4 * static_cast<std::int64_t>(sizeof(double)));
}

TEST(Stack, RecomputeGivesTheSameBitsWithDropoutOn) {
    Stack stack = three_blocks(0.2);
    randomise(stack);
    const Tensor x = random_tensor({2, 9, block_width}, 5);
    const auto gradients = [&](bool again) {
        for (const auto& [name, tensor] : parameters(stack)) tensor->set_grad({});
        Context context = causal;
        context.training = true;
        context.recompute = again;
        context.key = {.seed = 8};
        backward(weighted_total(stack.forward(x, context)));
        std::vector<Tensor> found;
        for (const auto& [name, tensor] : parameters(stack)) found.push_back(tensor->grad());
        return found;
    };
    const auto kept = gradients(false), recomputed = gradients(true);
    for (std::size_t i = 0; i < kept.size(); ++i)
        EXPECT_TRUE(same_bits(kept[i], recomputed[i])) << parameters(stack)[i].name;
}

TEST(Stack, DropoutFollowsTheKeyAndOnlyInTraining) {
    Stack stack = three_blocks(0.3);
    randomise(stack);
    const Tensor x = random_tensor({1, 6, block_width}, 6);
    const auto run = [&](bool training, std::uint64_t seed) {
        Context context = causal;
        context.training = training;
        context.key = {.seed = seed};
        return stack.forward(x, context).detach();
    };
    EXPECT_TRUE(same_bits(run(false, 1), run(false, 2)));
    EXPECT_TRUE(same_bits(run(true, 1), run(true, 1)));
    EXPECT_FALSE(same_bits(run(true, 1), run(true, 2)));
    EXPECT_FALSE(same_bits(run(true, 1), run(false, 1)));
}

TEST(Stack, AnEncoderLooksBothWays) {
    Stack stack = three_blocks();
    randomise(stack);
    const Tensor x = random_tensor({1, 6, block_width}, 7);
    Tensor changed = x.clone();
    ops::slice(changed, 1, 5, 6).fill(3);
    const auto first = [&](const Tensor& in, const Context& context) {
        return ops::slice(stack.forward(in, context).detach(), 1, 0, 1);
    };
    EXPECT_TRUE(same_bits(first(x, causal), first(changed, causal)));
    EXPECT_FALSE(same_bits(first(x, {}), first(changed, {})));
}

template <class B>
Stack two_blocks(bool has_rope) {
    std::vector<std::unique_ptr<Block>> blocks;
    for (int i = 0; i < 2; ++i) {
        BlockParts made = parts();
        if (!has_rope)
            made.attention =
                std::make_unique<DotProductAttention>(DotProductSettings{.width = block_width, .heads = 3});
        blocks.push_back(std::make_unique<B>(std::move(made)));
    }
    return {std::move(blocks), norm()};
}

std::vector<Tensor> gradients_of(Stack& stack, const Tensor& output) {
    for (const auto& [name, tensor] : parameters(stack)) tensor->set_grad({});
    backward(weighted_total(output));
    std::vector<Tensor> found;
    for (const auto& [name, tensor] : parameters(stack)) found.push_back(tensor->grad());
    return found;
}

void expect_first_tokens_alone(Stack stack, const char* what) {
    randomise(stack);
    const Tensor x = random_tensor({2, 7, block_width}, 8);
    Context padded, window;
    padded.mask.lengths = Tensor::from<std::int64_t>({7, 4}, {2});
    window.mask = ops::AttentionMask::bidirectional_sliding(2);
    for (const Context& context : {Context{}, causal, padded, window})
        for (const std::int64_t count : {1, 3, 7})
            for (const bool again : {false, true}) {
                Context own = context;
                own.recompute = again;
                const Tensor all = ops::slice(stack.forward(x, own), 1, 0, count);
                const Tensor first = stack.forward_first(x, count, own);
                ASSERT_EQ(first.shape(), all.shape()) << what;
                EXPECT_LE(relative_error(first, all), 1e-12) << what << ", " << count;
                const auto expected = gradients_of(stack, all), found = gradients_of(stack, first);
                for (std::size_t i = 0; i < found.size(); ++i)
                    EXPECT_LE(relative_error(found[i], expected[i]), 1e-10)
                        << what << ", " << parameters(stack)[i].name;
            }
}

TEST(Stack, FirstTokensAloneAreWhatTheyAreAmongAll) {
    expect_first_tokens_alone(two_blocks<PreNormBlock>(false), "pre-norm");
    expect_first_tokens_alone(two_blocks<PreNormBlock>(true), "pre-norm with RoPE");
    expect_first_tokens_alone(two_blocks<PostNormBlock>(false), "post-norm");
    expect_first_tokens_alone(Stack({}, norm()), "no blocks");
}

CrossStack two_cross_blocks(NormPlacement placement) {
    std::vector<std::unique_ptr<CrossBlock>> blocks;
    for (int i = 0; i < 2; ++i) {
        CrossBlockParts made;
        made.self_attention = attention();
        made.cross_attention = std::make_unique<DotProductAttention>(
            DotProductSettings{.width = block_width, .heads = 3, .memory_width = 7});
        made.feed_forward = feed_forward();
        made.self_attention_norm = norm();
        made.cross_attention_norm = norm();
        made.feed_forward_norm = norm();
        made.norms = placement;
        blocks.push_back(std::make_unique<CrossBlock>(std::move(made)));
    }
    return {std::move(blocks), placement == NormPlacement::Before ? norm() : nullptr};
}

TEST(CrossStack, CachedIsUncachedAndEveryParameterLearns) {
    for (const NormPlacement placement : {NormPlacement::Before, NormPlacement::After}) {
        CrossStack stack = two_cross_blocks(placement);
        randomise(stack);
        const Tensor x = random_tensor({2, 6, block_width}, 8);
        Memory memory{random_tensor({2, 5, 7}, 9)};
        memory.mask.lengths = Tensor::from<std::int64_t>({5, 3}, {2});
        const Tensor whole = stack.forward(x, memory, causal).detach();
        {
            const NoGrad no_grad;
            CrossStackCache cache = stack.make_cache(6);
            std::vector<Tensor> outputs;
            for (std::int64_t i = 0; i < 6; ++i)
                outputs.push_back(stack.forward(ops::slice(x, 1, i, i + 1), memory, causal, &cache));
            EXPECT_LE(relative_error(ops::concat(outputs, 1), whole), 1e-12);
        }
        expect_gradients(stack, [&] { return weighted_total(stack.forward(x, memory, causal)); });
        Context again = causal;
        again.recompute = true;
        expect_gradients(stack, [&] { return weighted_total(stack.forward(x, memory, again)); });
    }
}

}  // namespace
}  // namespace tessera::nn
