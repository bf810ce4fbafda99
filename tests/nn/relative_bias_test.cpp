#include "tessera/nn/attention/relative_bias.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/expect_error.h"
#include "support/module_check.h"
#include "support/op_case.h"
#include "tessera/nn/attention/dot_product.h"
#include "tessera/nn/blocks/stack.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::nn {
namespace {

using testing::expect_error;
using testing::expect_gradients;
using testing::random_tensor;
using testing::randomise;
using testing::relative_error;
using testing::same_bits;
using testing::weighted_total;

// Eight buckets up to distance 20, read off the definition by hand. Looking back only: 0–3 alone, then
// 4 + ⌊4 · log(d/4) / log(5)⌋. Both ways, four to a side: 0–1 alone, then 2 + ⌊2 · log(d/2) / log(10)⌋.
TEST(RelativeBias, DistancesFallIntoBuckets) {
    const RelativeBias back({.heads = 1, .buckets = 8, .longest_distance = 20, .bidirectional = false});
    const std::vector<std::int64_t> looking_back{0, 1, 2, 3, 4, 4, 5, 5, 5, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7};
    for (std::size_t i = 0; i < looking_back.size(); ++i)
        EXPECT_EQ(back.bucket(-static_cast<std::int64_t>(i)), looking_back[i]) << i << " behind";
    EXPECT_EQ(back.bucket(-1000000), 7);
    EXPECT_EQ(back.bucket(5), 0);
    const RelativeBias both({.heads = 1, .buckets = 8, .longest_distance = 20});
    const std::vector<std::int64_t> either{0, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3};
    for (std::size_t i = 1; i < either.size(); ++i) {
        const auto distance = static_cast<std::int64_t>(i);
        EXPECT_EQ(both.bucket(-distance), either[i]) << i << " behind";
        EXPECT_EQ(both.bucket(distance), 4 + either[i]) << i << " ahead";
    }
    EXPECT_EQ(both.bucket(0), 0);
}

TEST(RelativeBias, IsTheTableAtEachPairsBucket) {
    RelativeBias bias({.heads = 3, .buckets = 8, .longest_distance = 20});
    randomise(bias);
    const std::vector<double> table = bias.table.weight.to_vector<double>();
    const Tensor got = bias.forward(2, 7);
    ASSERT_EQ(got.shape(), (Shape{1, 3, 2, 7}));
    const std::vector<double> values = got.to_vector<double>();
    for (std::int64_t head = 0; head < 3; ++head)
        for (std::int64_t query = 0; query < 2; ++query)
            for (std::int64_t key = 0; key < 7; ++key)
                EXPECT_EQ(values[static_cast<std::size_t>((head * 2 + query) * 7 + key)],
                          table[static_cast<std::size_t>(bias.bucket(key - (5 + query)) * 3 + head)]);
    expect_gradients(bias, [&] { return weighted_total(bias.forward(2, 7)); });
}

// The newest token's bias is the last row of the whole: what decoding with a cache relies on.
TEST(RelativeBias, OneTokenAtATimeIsTheWhole) {
    RelativeBias bias({.heads = 2, .buckets = 8, .longest_distance = 20, .bidirectional = false});
    randomise(bias);
    const Tensor whole = bias.forward(9, 9);
    for (std::int64_t keys = 1; keys <= 9; ++keys)
        EXPECT_TRUE(same_bits(ops::contiguous(bias.forward(1, keys)),
                              ops::contiguous(ops::slice(ops::slice(whole, 2, keys - 1, keys), 3, 0, keys))));
}

// One bias for all blocks: its gradient is the sum of theirs, also where the blocks are run again in backward.
struct Biased : Module {
    Biased() : bias({.heads = 2, .buckets = 8, .longest_distance = 20}) {
        std::vector<std::unique_ptr<Block>> blocks;
        std::vector<std::unique_ptr<CrossBlock>> cross_blocks;
        const DotProductSettings attention{.width = 4, .heads = 2};
        const FeedForwardSettings feed_forward{.width = 4, .hidden = 6};
        for (int i = 0; i < 2; ++i) {
            BlockParts parts;
            parts.attention = std::make_unique<DotProductAttention>(attention);
            parts.feed_forward = std::make_unique<FeedForward>(feed_forward);
            parts.attention_norm = std::make_unique<RmsNorm>(4);
            parts.feed_forward_norm = std::make_unique<RmsNorm>(4);
            blocks.push_back(std::make_unique<PreNormBlock>(std::move(parts)));
            CrossBlockParts cross;
            cross.self_attention = std::make_unique<DotProductAttention>(attention);
            cross.cross_attention = std::make_unique<DotProductAttention>(attention);
            cross.feed_forward = std::make_unique<FeedForward>(feed_forward);
            cross.self_attention_norm = std::make_unique<RmsNorm>(4);
            cross.cross_attention_norm = std::make_unique<RmsNorm>(4);
            cross.feed_forward_norm = std::make_unique<RmsNorm>(4);
            cross_blocks.push_back(std::make_unique<CrossBlock>(std::move(cross)));
        }
        stack = Stack(std::move(blocks), nullptr);
        cross_stack = CrossStack(std::move(cross_blocks), nullptr);
    }
    Tensor forward(const Tensor& x, Context context) const {
        context.bias = bias.forward(x.size(1), x.size(1));
        return cross_stack.forward(x, {stack.forward(x, context)}, context);
    }
    void visit(const Visitor& visitor) override {
        visitor("bias", bias);
        visitor("stack", stack);
        visitor("cross_stack", cross_stack);
    }

    RelativeBias bias;
    Stack stack;
    CrossStack cross_stack;
};

TEST(RelativeBias, LearnsFromEveryBlockThatSharesIt) {
    Biased model;
    randomise(model);
    const Tensor x = random_tensor({2, 5, 4}, 3);
    for (const bool recompute : {false, true})
        expect_gradients(model, [&] { return weighted_total(model.forward(x, {.recompute = recompute})); });
}

TEST(RelativeBias, RefusesSettingsThatLeaveNoBuckets) {
    expect_error([] { RelativeBias bias({.buckets = 3}); }, {"3 buckets"});
    expect_error([] { RelativeBias bias({.buckets = 32, .longest_distance = 16}); }, {"distance of 16"});
    expect_error([] { RelativeBias({.buckets = 8}).forward(3, 2); }, {"3 queries among 2 keys"});
}

}  // namespace
}  // namespace tessera::nn
