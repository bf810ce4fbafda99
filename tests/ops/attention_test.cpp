// What the op harness cannot say about attention: errors at the door, equivalences, memory, and strange values.
#include "tessera/ops/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/op_case.h"
#include "tessera/core/memory.h"
#include "tessera/core/parallel.h"
#include "tessera/ops/global_local_attention.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

using ops::attention;
using ops::AttentionMask;
using ops::AttentionOptions;

Tensor tensor(const Shape& shape, std::uint64_t seed) { return random_tensor(shape, seed, -1, 1, DType::F32); }

struct Inputs {
    Tensor query, key, value;

    explicit Inputs(std::int64_t time, std::int64_t heads = 2, std::int64_t width = 16)
        : query(tensor({1, time, heads, width}, 1)),
          key(tensor({1, time, heads, width}, 2)),
          value(tensor({1, time, heads, width}, 3)) {}
};

void expect_attention_error(const std::function<void()>& action, const std::string& part) {
    try {
        action();
        ADD_FAILURE() << "no error where one naming \"" << part << "\" was due";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("attention"), std::string::npos) << error.what();
    }
}

TEST(Attention, ErrorsNameTheOpAndTheShapes) {
    const Inputs in(5);
    expect_attention_error([&] { attention(in.query, tensor({1, 5, 2, 8}, 1), in.value); }, "(1, 5, 2, 8)");
    expect_attention_error([&] { attention(in.query, tensor({2, 5, 2, 16}, 1), in.value); }, "(2, 5, 2, 16)");
    expect_attention_error([&] { attention(in.query, in.key, tensor({1, 6, 2, 16}, 1)); }, "(1, 6, 2, 16)");
    expect_attention_error([&] { attention(tensor({1, 5, 3, 16}, 1), in.key, in.value); }, "multiple of KH");
    expect_attention_error([&] { attention(tensor({5, 2, 16}, 1), in.key, in.value); }, "(5, 2, 16)");
    expect_attention_error([&] { attention(in.query.to(DType::F64), in.key, in.value); }, "one float dtype");
    expect_attention_error([&] { attention(in.query, in.key, in.value, {.dropout = 1}); }, "dropout");
    expect_attention_error([&] { attention(in.query, in.key, in.value, {.soft_cap = -1}); }, "soft cap");
    expect_attention_error([&] { attention(in.query, in.key, in.value, {.bias = tensor({3, 5, 5}, 1)}); }, "(3, 5, 5)");
    expect_attention_error([&] { attention(in.query, in.key, in.value, {.alibi_slopes = tensor({3}, 1)}); }, "(3)");
    expect_attention_error([&] { attention(in.query, in.key, in.value, {.mask = {.lengths = tensor({1}, 1)}}); },
                           "lengths");
    expect_attention_error(
        [&] { attention(in.query, in.key, in.value, {.offset = 1, .offsets = Tensor::from<std::int64_t>({1}, {1})}); },
        "both offset and offsets");
    expect_attention_error(
        [&] { attention(in.query, in.key, in.value, {.mask = {.keys_behind = 3, .prefix_keys = 2}}); }, "interval");
    expect_attention_error([] { AttentionMask::sliding(0); }, "at least 1");
}

TEST(Attention, EmptyInputsGiveEmptyOrZeros) {
    EXPECT_EQ(attention(tensor({0, 3, 2, 4}, 1), tensor({0, 5, 2, 4}, 1), tensor({0, 5, 2, 4}, 1)).shape(),
              (Shape{0, 3, 2, 4}));
    EXPECT_EQ(attention(tensor({1, 0, 2, 4}, 1), tensor({1, 5, 2, 4}, 1), tensor({1, 5, 2, 4}, 1)).elements(), 0);
    for (const std::int64_t queries : {3, 30}) {
        Tensor query = tensor({1, queries, 2, 4}, 1), key = tensor({1, 0, 2, 4}, 1), value = tensor({1, 0, 2, 4}, 1);
        query.set_requires_grad();
        const Tensor out = attention(query, key, value);
        backward({out}, {tensor(out.shape(), 2)});
        for (const float each : out.to_vector<float>()) EXPECT_EQ(each, 0.0f);
        for (const float each : query.grad().to_vector<float>()) EXPECT_EQ(each, 0.0f);
    }
}

TEST(Attention, NoQueryMeansNoGradientOfKeys) {
    Tensor key = tensor({1, 5, 2, 4}, 1), value = tensor({1, 5, 2, 4}, 1);
    key.set_requires_grad();
    const Tensor out = attention(tensor({1, 0, 2, 4}, 1), key, value);
    backward({out}, {Tensor::zeros(out.shape())});
    for (const float each : key.grad().to_vector<float>()) EXPECT_EQ(each, 0.0f);
}

// A bias of −infinity hides a key; a row of them gives zeros, not NaN.
TEST(Attention, BiasOfMinusInfinityHides) {
    for (const std::int64_t time : {4, 40}) {
        Inputs in(time, 1);
        in.query.set_requires_grad();
        std::vector<float> bias(static_cast<std::size_t>(time * time), 0.0f);
        for (std::int64_t i = 0; i < time; ++i)
            for (std::int64_t j = 0; j < time; ++j)
                if (j > i || i == 2) bias[static_cast<std::size_t>(i * time + j)] = -INFINITY;
        const Tensor hidden = attention(in.query, in.key, in.value, {.bias = Tensor::from(bias, {time, time})});
        const auto masked = attention(in.query, in.key, in.value, {.mask = AttentionMask::causal()}).to_vector<float>();
        const auto values = hidden.to_vector<float>();
        for (std::int64_t i = 0; i < time; ++i)
            for (std::int64_t d = 0; d < 16; ++d) {
                const auto at = static_cast<std::size_t>(i * 16 + d);
                EXPECT_FLOAT_EQ(values[at], i == 2 ? 0.0f : masked[at]);
            }
        backward({hidden}, {tensor(hidden.shape(), 4)});
        for (const float each : in.query.grad().to_vector<float>()) EXPECT_TRUE(std::isfinite(each));
    }
}

// NaN in what a query sees reaches its output; NaN in what it does not see does not.
TEST(Attention, NaNIsNeitherLostNorSpread) {
    for (const std::int64_t time : {6, 70}) {
        const Inputs in(time, 1);
        in.key.data<float>()[3 * 16] = std::numeric_limits<float>::quiet_NaN();
        const Tensor out = attention(in.query, in.key, in.value, {.mask = AttentionMask::causal()});
        for (std::int64_t i = 0; i < time; ++i)
            for (std::int64_t d = 0; d < 16; ++d)
                EXPECT_EQ(std::isnan(out.data<float>()[i * 16 + d]), i >= 3) << "query " << i;
    }
}

TEST(Attention, LargeScoresDoNotOverflow) {
    for (const std::int64_t time : {6, 70}) {
        Inputs in(time, 1);
        in.query.set_requires_grad();
        const Tensor out = attention(in.query, in.key, in.value, {.scale = 3e4});
        backward({out}, {tensor(out.shape(), 4)});
        for (const float each : out.to_vector<float>()) EXPECT_LE(std::fabs(each), 1.0f);
        for (const float each : in.query.grad().to_vector<float>()) EXPECT_TRUE(std::isfinite(each));
    }
}

// Heads split off one wide projection, as a model does it, are read in place and give the same bits.
TEST(Attention, HeadsOfAFusedProjectionGiveTheSameBits) {
    const Tensor fused = tensor({2, 50, 3 * 4 * 16}, 1);
    std::vector<Tensor> views, copies;
    for (int i = 0; i < 3; ++i) {
        views.push_back(ops::reshape(ops::slice(fused, 2, i * 64, (i + 1) * 64), {2, 50, 4, 16}));
        EXPECT_FALSE(views.back().is_contiguous());
        copies.push_back(views.back().clone());
    }
    EXPECT_TRUE(same_bits(attention(views[0], views[1], views[2]), attention(copies[0], copies[1], copies[2])));
}

// Reading a prompt at once, or in pieces, or a token at a time over the growing keys, is the same.
TEST(Attention, PiecesOfAPromptMatchTheWhole) {
    const Inputs in(200, 4);
    for (const AttentionMask& mask : {AttentionMask::causal(), AttentionMask::sliding(33)}) {
        const Tensor whole = attention(in.query, in.key, in.value, {.mask = mask});
        for (const std::int64_t piece : {1, 37}) {
            for (std::int64_t first = 0; first < 200; first += piece) {
                const std::int64_t end = std::min<std::int64_t>(200, first + piece);
                const Tensor part = attention(ops::slice(in.query, 1, first, end), ops::slice(in.key, 1, 0, end),
                                              ops::slice(in.value, 1, 0, end), {.mask = mask});
                EXPECT_LE(relative_error(part, ops::slice(whole, 1, first, end)), 2e-6) << first << " of " << piece;
            }
        }
    }
}

// A packed row of two documents is the two documents.
TEST(Attention, PackedDocumentsMatchDocumentsAlone) {
    const Inputs in(90);
    std::vector<std::int64_t> first_keys(90, 0);
    for (std::size_t i = 40; i < 90; ++i) first_keys[i] = 40;
    AttentionMask mask = AttentionMask::causal();
    mask.first_keys = Tensor::from(first_keys, {1, 90});
    const Tensor packed = attention(in.query, in.key, in.value, {.mask = mask});
    const auto alone = [&](std::int64_t begin, std::int64_t end) {
        return attention(ops::slice(in.query, 1, begin, end), ops::slice(in.key, 1, begin, end),
                         ops::slice(in.value, 1, begin, end), {.mask = AttentionMask::causal()});
    };
    EXPECT_LE(relative_error(ops::slice(packed, 1, 0, 40), alone(0, 40)), 1e-6);
    EXPECT_LE(relative_error(ops::slice(packed, 1, 40, 90), alone(40, 90)), 1e-6);
}

TEST(Attention, F16StaysNearF32) {
    for (const std::int64_t queries : {1, 40}) {
        const Tensor query = tensor({1, queries, 2, 24}, 1), key = tensor({1, 40, 2, 24}, 2);
        const Tensor value = tensor({1, 40, 2, 24}, 3);
        const Tensor out = attention(query.to(DType::F16), key.to(DType::F16), value.to(DType::F16));
        EXPECT_EQ(out.dtype(), DType::F16);
        EXPECT_LE(relative_error(out, attention(query, key, value)), 2e-3);
    }
}

// A constant added to all scores of a query changes nothing, so its gradient is zero.
TEST(Attention, BiasPerQueryHasNoEffect) {
    const Inputs in(40);
    Tensor bias = tensor({1, 2, 40, 1}, 7);
    bias.set_requires_grad();
    const Tensor out = attention(in.query, in.key, in.value, {.bias = bias});
    EXPECT_LE(relative_error(out, attention(in.query, in.key, in.value)), 1e-6);
    backward({out}, {tensor(out.shape(), 8)});
    for (const float each : bias.grad().to_vector<float>()) EXPECT_NEAR(each, 0, 1e-5);
}

TEST(Attention, DropoutKeepsTheMeanAndFollowsItsKey) {
    const Inputs in(128);
    const auto ones = Tensor::full({1, 128, 2, 16}, 1.0);
    const AttentionOptions options{.dropout = 0.25, .dropout_key = {.seed = 1}};
    const Tensor out = attention(in.query, in.key, ones, options);
    double mean = 0;
    for (const float each : out.to_vector<float>()) mean += each / static_cast<double>(out.elements());
    EXPECT_NEAR(mean, 1, 0.02);
    EXPECT_TRUE(same_bits(out, attention(in.query, in.key, ones, options)));
    EXPECT_FALSE(same_bits(out, attention(in.query, in.key, ones, {.dropout = 0.25, .dropout_key = {.seed = 2}})));
}

// Only wanted gradients are computed, and they do not depend on which others are.
TEST(Attention, EachGradientStandsAlone) {
    const auto gradients = [](bool query, bool key, bool value) {
        Inputs in(70);
        in.query.set_requires_grad(query);
        in.key.set_requires_grad(key);
        in.value.set_requires_grad(value);
        const Tensor out = attention(in.query, in.key, in.value, {.mask = AttentionMask::causal()});
        backward({out}, {tensor(out.shape(), 9)});
        std::vector<Tensor> found;
        for (const Tensor& each : {in.query, in.key, in.value})
            found.push_back(each.requires_grad() ? each.grad() : Tensor());
        return found;
    };
    const auto all = gradients(true, true, true);
    for (int i = 0; i < 3; ++i) {
        const auto one = gradients(i == 0, i == 1, i == 2);
        for (int j = 0; j < 3; ++j) EXPECT_EQ(one[static_cast<std::size_t>(j)].defined(), i == j);
        EXPECT_TRUE(same_bits(one[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(i)]));
    }
}

// Memory is linear in the sequence, and far below a matrix of scores.
TEST(Attention, MemoryIsLinear) {
    const auto peak = [](std::int64_t time) {
        Inputs in(time, 8, 16);
        for (Tensor* each : {&in.query, &in.key, &in.value}) each->set_requires_grad();
        const std::int64_t before = memory_stats(cpu).bytes_in_use;
        reset_peak(cpu);
        const Tensor out = attention(in.query, in.key, in.value, {.mask = AttentionMask::causal()});
        backward({out}, {Tensor::full(out.shape(), 1.0)});
        return memory_stats(cpu).peak_bytes - before;
    };
    const std::int64_t small = peak(512), large = peak(2048);
    EXPECT_LE(large, small * 9 / 2);  // a quadratic part would make it up to 16 times
    EXPECT_LE(large, std::int64_t{8} * 2048 * 2048 * 4 / 10);
}

TEST(GlobalLocalAttention, ErrorsNameTheOpAndTheShapes) {
    const Tensor x = tensor({1, 6, 2, 4}, 1), y = tensor({1, 7, 2, 4}, 1);
    expect_attention_error([&] { ops::global_local_attention(x, y, x, x, x, x, {.window = 2}); }, "(1, 7, 2, 4)");
    expect_attention_error([&] { ops::global_local_attention(x, x, x, x, x, x, {.window = 3}); }, "window 3");
    expect_attention_error([&] { ops::global_local_attention(x, x, x, x, x, x, {.window = 2, .global_tokens = x}); },
                           "bool");
    expect_attention_error([&] { ops::global_local_attention(x, x, x, x, x, x, {.window = 2, .lengths = x}); },
                           "lengths");
}

// With a window over everything and no global token it is plain attention.
TEST(GlobalLocalAttention, WideWindowIsPlainAttention) {
    const Inputs in(50);
    const Tensor out =
        ops::global_local_attention(in.query, in.key, in.value, in.query, in.key, in.value, {.window = 100});
    EXPECT_LE(relative_error(out, attention(in.query, in.key, in.value)), 1e-6);
}

}  // namespace
}  // namespace tessera::testing
