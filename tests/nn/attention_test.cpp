// Attention as a module: its special cases are each other's limits, and every way of feeding it tokens gives the same.
#include <gtest/gtest.h>

#include <cmath>

#include "support/module_check.h"
#include "support/op_case.h"
#include "tessera/nn/attention/additive.h"
#include "tessera/nn/attention/dot_product.h"
#include "tessera/nn/attention/full_cache.h"
#include "tessera/nn/attention/latent.h"
#include "tessera/nn/attention/ring_cache.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/matmul.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/softmax.h"
#include "tessera/ops/unary.h"
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

constexpr std::int64_t width = 24, heads = 6, length = 13;
const RopeSettings rope{.rotary_width = width / heads};

DotProductSettings settings_with(std::int64_t kv_heads, std::int64_t window = 0) {
    return {.width = width, .heads = heads, .kv_heads = kv_heads, .rope = rope, .window = window};
}

// Softmax(Q Kᵀ / √d) V with the mask as a matrix: the definition.
Tensor plain_attention(const DotProductAttention& module, const Tensor& x) {
    const std::int64_t batch = x.size(0), count = x.size(1), head_width = width / heads;
    const auto split = [&](const Tensor& projected) {
        return ops::permute(ops::reshape(projected, {batch, count, heads, head_width}), {0, 2, 1, 3});
    };
    const Tensor scores =
        ops::scale(ops::matmul(split(module.query.forward(x)), split(module.key.forward(x)), {.transpose_b = true}),
                   1 / std::sqrt(static_cast<double>(head_width)));
    std::vector<double> mask(static_cast<std::size_t>(count * count), 0);
    for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t j = i + 1; j < count; ++j) mask[static_cast<std::size_t>(i * count + j)] = -1e9;
    const Tensor weights = ops::softmax(ops::add(scores, Tensor::from(mask, {count, count})));
    const Tensor mixed = ops::permute(ops::matmul(weights, split(module.value.forward(x))), {0, 2, 1, 3});
    return module.output.forward(ops::reshape(mixed, {batch, count, width}));
}

TEST(DotProductAttention, WithAsManyKeyHeadsAsHeadsIsMultiHeadAttention) {
    DotProductAttention module({.width = width, .heads = heads, .input_bias = true, .output_bias = true});
    randomise(module);
    const Tensor x = random_tensor({2, length, width}, 7);
    EXPECT_LE(relative_error(module.forward(x, {.mask = ops::AttentionMask::causal()}), plain_attention(module, x)),
              1e-12);
}

// Copies each key-value head's rows so often that every query head has one of its own.
Tensor repeated_heads(const Tensor& weight, std::int64_t kv_heads) {
    const std::int64_t head_width = width / heads, times = heads / kv_heads;
    const Tensor split = ops::reshape(weight.detach(), {kv_heads, 1, head_width, width});
    return ops::reshape(ops::expand(split, {kv_heads, times, head_width, width}), {heads * head_width, width});
}

TEST(DotProductAttention, FewerKeyHeadsAreMultiHeadAttentionWithSharedOnes) {
    for (const std::int64_t kv_heads : {1, 2, 3, 6}) {
        DotProductAttention grouped(settings_with(kv_heads)), full(settings_with(heads));
        randomise(grouped);
        randomise(full);
        full.query.weight = grouped.query.weight;
        full.output.weight = grouped.output.weight;
        full.key.weight = repeated_heads(grouped.key.weight, kv_heads);
        full.value.weight = repeated_heads(grouped.value.weight, kv_heads);
        const Tensor x = random_tensor({2, length, width}, 8);
        const Context context{.mask = ops::AttentionMask::causal()};
        EXPECT_LE(relative_error(grouped.forward(x, context), full.forward(x, context)), 1e-12)
            << kv_heads << " key-value heads";
    }
}

TEST(DotProductAttention, AWindowLongerThanTheTextIsCausal) {
    DotProductAttention causal(settings_with(2)), sliding(settings_with(2, 1000));
    randomise(causal);
    randomise(sliding);  // the same seed, so the same weights
    const Tensor x = random_tensor({2, length, width}, 9);
    const Context context{.mask = ops::AttentionMask::causal()};
    EXPECT_TRUE(same_bits(causal.forward(x, context).detach(), sliding.forward(x, context).detach()));
}

TEST(DotProductAttention, AWindowChangesWhatItShould) {
    DotProductAttention causal(settings_with(2)), sliding(settings_with(2, 4));
    randomise(causal);
    randomise(sliding);
    const Tensor x = random_tensor({1, length, width}, 10);
    const Context context{.mask = ops::AttentionMask::causal()};
    const Tensor a = causal.forward(x, context).detach(), b = sliding.forward(x, context).detach();
    EXPECT_LE(relative_error(ops::slice(b, 1, 0, 4), ops::slice(a, 1, 0, 4)), 1e-12);
    EXPECT_GT(relative_error(ops::slice(b, 1, 4, length), ops::slice(a, 1, 4, length)), 1e-3);
}

TEST(DotProductAttention, AWindowBesideAPrefixIsTheWindowOrThePrefixSeeingItself) {
    constexpr std::int64_t window = 4;
    const std::vector<std::int64_t> prefixes{9, 3};
    DotProductAttention plain(settings_with(2)), sliding(settings_with(2, window));
    randomise(plain);
    randomise(sliding);
    const Tensor x = random_tensor({2, length, width}, 10);
    std::vector<double> matrix;
    for (const std::int64_t prefix : prefixes)
        for (std::int64_t i = 0; i < length; ++i)
            for (std::int64_t j = 0; j < length; ++j)
                matrix.push_back((j <= i && j > i - window) || (i < prefix && j < prefix) ? 0 : -1e9);
    const Tensor expected = plain.forward(x, {.bias = Tensor::from(matrix, {2, 1, length, length})}).detach();
    Context context{.mask = ops::AttentionMask::causal()};
    context.mask.prefix_lengths = Tensor::from(prefixes, {2});
    EXPECT_LE(relative_error(sliding.forward(x, context).detach(), expected), 1e-12);

    // The prefix in one piece, then token by token under the plain window.
    const NoGrad no_grad;
    const Tensor row = ops::slice(x, 0, 0, 1), first = ops::slice(row, 1, 0, 9);
    RingCache ring(window);
    EXPECT_LE(relative_error(sliding.forward(first, {.mask = ops::AttentionMask::prefix(9)}, &ring),
                             ops::slice(ops::slice(expected, 0, 0, 1), 1, 0, 9)),
              1e-12);
    for (std::int64_t i = 9; i < length; ++i)
        EXPECT_LE(
            relative_error(sliding.forward(ops::slice(row, 1, i, i + 1), {.mask = ops::AttentionMask::causal()}, &ring),
                           ops::slice(ops::slice(expected, 0, 0, 1), 1, i, i + 1)),
            1e-12);
}

// Feeds x through a cache in pieces of the given sizes.
Tensor in_pieces(const SelfAttention& module, const Tensor& x, const std::vector<std::int64_t>& pieces, Cache& cache,
                 Context context) {
    const NoGrad no_grad;
    std::vector<Tensor> outputs;
    std::int64_t first = 0;
    for (const std::int64_t piece : pieces) {
        outputs.push_back(module.forward(ops::slice(x, 1, first, first + piece), context, &cache));
        first += piece;
    }
    return ops::concat(outputs, 1);
}

const std::vector<std::vector<std::int64_t>> ways_to_feed = {
    {13}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {5, 1, 1, 1, 5}, {7, 6}, {1, 9, 1, 2}};

TEST(DotProductAttention, CachedIsUncachedInAnyPieces) {
    for (const std::int64_t kv_heads : {1, 2, 6})
        for (const std::int64_t window : {0, 1, 3, 4, 20}) {
            DotProductAttention module(settings_with(kv_heads, window));
            randomise(module);
            const Tensor x = random_tensor({2, length, width}, 11);
            const Context context{.mask = ops::AttentionMask::causal()};
            const Tensor whole = module.forward(x, context).detach();
            for (const auto& pieces : ways_to_feed) {
                const auto cache = module.make_cache(length);
                EXPECT_LE(relative_error(in_pieces(module, x, pieces, *cache, context), whole), 1e-12)
                    << kv_heads << " key-value heads, window " << window << ", " << pieces.size() << " pieces";
                EXPECT_EQ(cache->length(), length);
            }
        }
}

TEST(RingCache, IsTheFullCacheUnderTheSameWindowInLessMemory) {
    constexpr std::int64_t window = 4;
    DotProductAttention module(settings_with(2, window));
    randomise(module);
    const Tensor x = random_tensor({2, length, width}, 12);
    const Context context{.mask = ops::AttentionMask::causal()};
    for (const auto& pieces : ways_to_feed) {
        RingCache ring(window);
        FullCache full(length);
        EXPECT_LE(
            relative_error(in_pieces(module, x, pieces, ring, context), in_pieces(module, x, pieces, full, context)),
            1e-12);
        EXPECT_EQ(ring.bytes() * length, full.bytes() * window);
    }
}

TEST(DotProductAttention, LeftPaddedRowsAreTheSingleRows) {
    for (const std::int64_t window : {0, 4}) {
        DotProductAttention module(settings_with(2, window));
        randomise(module);
        const Tensor longer = random_tensor({1, length, width}, 13),
                     shorter = random_tensor({1, length - 5, width}, 14);
        const Tensor padding = random_tensor({1, 5, width}, 15, 50, 100);
        const Tensor batch = ops::concat({longer, ops::concat({padding, shorter}, 1)}, 0);
        std::vector<std::int64_t> positions;
        for (const std::int64_t pad : {0, 5})
            for (std::int64_t i = 0; i < length; ++i) positions.push_back(std::max<std::int64_t>(0, i - pad));
        const Tensor all_positions = Tensor::from(positions, {2, length});
        ops::AttentionMask mask = ops::AttentionMask::causal();
        mask.starts = Tensor::from<std::int64_t>({0, 5}, {2});
        const Tensor alone = module.forward(shorter, {.mask = ops::AttentionMask::causal()}).detach();
        const Tensor together = module.forward(batch, {.positions = all_positions, .mask = mask}).detach();
        EXPECT_LE(relative_error(ops::slice(ops::slice(together, 0, 1, 2), 1, 5, length), alone), 1e-12);

        // And token by token through the cache.
        const NoGrad no_grad;
        const auto cache = module.make_cache(length);
        Tensor last;
        for (std::int64_t i = 0; i < length; ++i)
            last = module.forward(ops::slice(batch, 1, i, i + 1),
                                  {.positions = ops::slice(all_positions, 1, i, i + 1), .mask = mask}, cache.get());
        EXPECT_LE(relative_error(ops::slice(last, 0, 1, 2), ops::slice(alone, 1, length - 6, length - 5)), 1e-12)
            << window;
    }
}

TEST(DotProductAttention, EveryParameterLearns) {
    DotProductAttention module({.width = width,
                                .heads = heads,
                                .kv_heads = 2,
                                .input_bias = true,
                                .output_bias = true,
                                .rope = rope,
                                .soft_cap = 5,
                                .query_key_norm = true});
    randomise(module);
    const Tensor x = random_tensor({2, 5, width}, 16);
    expect_gradients(module, [&] { return weighted_total(module.forward(x, {.mask = ops::AttentionMask::causal()})); });
}

TEST(DotProductAttention, CrossAttentionReadsTheMemoryUpToItsLength) {
    DotProductAttention module({.width = width, .heads = heads, .memory_width = 10});
    randomise(module);
    const Tensor x = random_tensor({2, 5, width}, 17), memory = random_tensor({2, 9, 10}, 18);
    ops::AttentionMask mask;
    mask.lengths = Tensor::from<std::int64_t>({9, 4}, {2});
    const Tensor both = module.attend(x, module.project(memory, {}), mask, {}).detach();
    const Tensor cut = ops::slice(ops::slice(memory, 0, 1, 2), 1, 0, 4);
    const Tensor alone = module.attend(ops::slice(x, 0, 1, 2), module.project(cut, {}), {}, {}).detach();
    EXPECT_LE(relative_error(ops::slice(both, 0, 1, 2), alone), 1e-12);
    expect_gradients(module, [&] { return weighted_total(module.attend(x, module.project(memory, {}), mask, {})); });
}

TEST(DotProductAttention, WhatCrossAttentionLookedAtMixesTheValues) {
    DotProductAttention module({.width = 6, .heads = 1, .memory_width = 5});
    randomise(module);
    const Tensor x = random_tensor({2, 3, 6}, 1), memory = random_tensor({2, 4, 5}, 2);
    std::vector<Tensor> seen;
    Context context;
    context.cross_attention = &seen;
    const Tensor out = module.attend(x, module.project(memory, {}), {}, context);
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_LE(relative_error(module.output.forward(ops::matmul(seen[0], module.value.forward(memory))), out), 1e-12);
    // Of several heads it is the mean: each row still sums to one.
    DotProductAttention several({.width = 6, .heads = 3, .kv_heads = 1});
    randomise(several);
    several.attend(x, several.project(x, {}), {}, context);
    for (const double total : ops::sum(seen[1], {2}).to_vector<double>()) EXPECT_NEAR(total, 1, 1e-12);
}

TEST(DotProductAttention, CrossAttentionLooksAtNoPadding) {
    DotProductAttention module({.width = 6, .heads = 1, .memory_width = 5});
    randomise(module);
    const Tensor x = random_tensor({2, 3, 6}, 1), memory = random_tensor({2, 4, 5}, 2);
    ops::AttentionMask mask;
    mask.lengths = Tensor::from<std::int64_t>({4, 2}, {2});
    std::vector<Tensor> seen;
    Context context;
    context.cross_attention = &seen;
    const Tensor out = module.attend(x, module.project(memory, {}), mask, context);
    EXPECT_LE(relative_error(module.output.forward(ops::matmul(seen[0], module.value.forward(memory))), out), 1e-12);
    for (const double weight : ops::slice(ops::slice(seen[0], 0, 1, 2), 2, 2, 4).to_vector<double>())
        EXPECT_EQ(weight, 0);
}

TEST(DotProductAttention, SettingsThatDoNotFitAreErrors) {
    EXPECT_THROW(DotProductAttention({.width = 10, .heads = 3}), Error);
    EXPECT_THROW(DotProductAttention({.width = 12, .heads = 6, .kv_heads = 4}), Error);
    DotProductAttention module(settings_with(2));
    randomise(module);
    EXPECT_THROW(module.forward(random_tensor({2, 3, width + 1}, 1), {}), Error);
    const auto cache = module.make_cache(3);
    const NoGrad no_grad;
    EXPECT_THROW(module.forward(random_tensor({1, 4, width}, 1), {.mask = ops::AttentionMask::causal()}, cache.get()),
                 Error);
}

TEST(Alibi, SlopesAreTheSequenceOfThePaper) {
    const std::vector<float> eight = alibi_slopes(8).to_vector<float>();
    for (int i = 0; i < 8; ++i) EXPECT_FLOAT_EQ(eight[static_cast<std::size_t>(i)], std::ldexp(1.0f, -(i + 1)));
    const std::vector<float> twelve = alibi_slopes(12).to_vector<float>();
    EXPECT_FLOAT_EQ(twelve[7], std::ldexp(1.0f, -8));
    EXPECT_FLOAT_EQ(twelve[8], std::exp2(-0.5f));
    EXPECT_FLOAT_EQ(twelve[9], std::exp2(-1.5f));
}

LatentSettings latent_settings(std::int64_t query_latent) {
    return {.width = width,
            .heads = 3,
            .query_latent = query_latent,
            .latent = 10,
            .content_width = 8,
            .rope_width = 4,
            .value_width = 6,
            .rope = {.rotary_width = 4, .pairing = ops::RopePairing::Adjacent}};
}

TEST(LatentAttention, AbsorbedIsExpanded) {
    for (const std::int64_t query_latent : {0, 7}) {
        LatentAttention module(latent_settings(query_latent));
        randomise(module);
        const Tensor x = random_tensor({2, length, width}, 19);
        const Context context{.mask = ops::AttentionMask::causal()};
        EXPECT_LE(relative_error(module.forward(x, context, nullptr, LatentForm::Absorbed),
                                 module.forward(x, context, nullptr, LatentForm::Expanded)),
                  1e-12);
    }
}

TEST(LatentAttention, CachedIsUncachedAndTheCacheHoldsLatentPlusRopePerToken) {
    for (const std::int64_t query_latent : {0, 7}) {
        LatentAttention module(latent_settings(query_latent));
        randomise(module);
        const Tensor x = random_tensor({2, length, width}, 20);
        const Context context{.mask = ops::AttentionMask::causal()};
        const Tensor whole = module.forward(x, context).detach();
        for (const auto& pieces : ways_to_feed) {
            const auto cache = module.make_cache(length);
            EXPECT_LE(relative_error(in_pieces(module, x, pieces, *cache, context), whole), 1e-12);
            EXPECT_EQ(cache->bytes(), 2 * length * (10 + 4) * static_cast<std::int64_t>(sizeof(double)));
        }
    }
}

TEST(LatentAttention, EveryParameterLearnsInBothForms) {
    for (const LatentForm form : {LatentForm::Expanded, LatentForm::Absorbed}) {
        LatentAttention module(latent_settings(7));
        randomise(module);
        const Tensor x = random_tensor({2, 5, width}, 21);
        expect_gradients(module, [&] {
            return weighted_total(module.forward(x, {.mask = ops::AttentionMask::causal()}, nullptr, form));
        });
    }
}

TEST(AdditiveAttention, IsItsFormula) {
    AdditiveAttention module({.query_width = 5, .key_width = 7, .hidden = 6});
    randomise(module);
    const Tensor queries = random_tensor({2, 3, 5}, 22), keys = random_tensor({2, 4, 7}, 23),
                 values = random_tensor({2, 4, 8}, 24);
    const Tensor q = ops::reshape(module.query.forward(queries), {2, 3, 1, 6}),
                 k = ops::reshape(module.key.forward(keys), {2, 1, 4, 6});
    const Tensor scores = ops::matmul(ops::tanh(ops::add(q, k)), ops::reshape(module.score, {6, 1}));
    const Tensor expected = ops::matmul(ops::softmax(ops::reshape(scores, {2, 3, 4})), values);
    EXPECT_LE(relative_error(module.forward(queries, module.project_keys(keys), values, {}).output, expected), 1e-12);
    const Tensor lengths = Tensor::from<std::int64_t>({4, 2}, {2});
    expect_gradients(module, [&] {
        return weighted_total(module.forward(queries, module.project_keys(keys), values, lengths).output);
    });
}

}  // namespace
}  // namespace tessera::nn
