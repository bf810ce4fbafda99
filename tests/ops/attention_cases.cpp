#include "tessera/ops/attention.h"

#include "ops/attention_reference.h"
#include "support/op_case.h"

namespace tessera::testing {
namespace {

using ops::AttentionMask;
using ops::AttentionOptions;

struct AttentionSizes {
    std::int64_t rows = 2, queries = 33, keys = 33, heads = 2, key_heads = 2, width = 8, value_width = 8;
};

Tensor i64(std::vector<std::int64_t> values) {
    const Shape shape{static_cast<std::int64_t>(values.size())};
    return Tensor::from(values, shape);
}

// The options with their tensors on the device of the inputs.
AttentionOptions on(Device device, AttentionOptions options) {
    for (Tensor* fact : {&options.mask.lengths, &options.mask.starts, &options.mask.prefix_lengths,
                         &options.mask.first_keys, &options.offsets, &options.alibi_slopes})
        if (fact->defined()) *fact = fact->to(device);
    return options;
}

void add_case(Cases& out, const std::string& name, const AttentionSizes& s, const AttentionOptions& options,
              const PlainAttention& plain) {
    out.add({.name = "attention/" + name,
             .inputs = {{.shape = {s.rows, s.queries, s.heads, s.width}, .low = -2, .high = 2},
                        {.shape = {s.rows, s.keys, s.key_heads, s.width}},
                        {.shape = {s.rows, s.keys, s.key_heads, s.value_width}}},
             .op =
                 [options](const Tensors& in) {
                     return Tensors{ops::attention(in[0], in[1], in[2], on(in[0].device(), options))};
                 },
             .reference = [plain](const Tensors& in) { return Tensors{plain_attention(in[0], in[1], in[2], plain)}; },
             .cuda = true});
}

void add_biased(Cases& out, const std::string& name, const AttentionSizes& s, const Shape& bias,
                const AttentionOptions& options, const PlainAttention& plain) {
    out.add({.name = "attention/bias/" + name,
             .inputs = {{.shape = {s.rows, s.queries, s.heads, s.width}},
                        {.shape = {s.rows, s.keys, s.key_heads, s.width}},
                        {.shape = {s.rows, s.keys, s.key_heads, s.value_width}},
                        {.shape = bias}},
             .op =
                 [options](const Tensors& in) {
                     AttentionOptions biased = on(in[0].device(), options);
                     biased.bias = in[3];
                     return Tensors{ops::attention(in[0], in[1], in[2], biased)};
                 },
             .reference =
                 [plain](const Tensors& in) {
                     PlainAttention biased = plain;
                     biased.bias = in[3];
                     return Tensors{plain_attention(in[0], in[1], in[2], biased)};
                 },
             .cuda = true});
}

void add_shapes(Cases& out) {
    const auto causal_at = [](std::int64_t offset) {
        return [offset](std::int64_t, std::int64_t i, std::int64_t j) { return j <= i + offset; };
    };
    for (const std::int64_t n : odd_sizes) {
        add_case(out, text_of("bidirectional/", n), {.queries = n, .keys = n}, {}, {});
        add_case(out, text_of("causal/", n), {.queries = n, .keys = n, .width = n == 127 ? 3 : n},
                 {.mask = AttentionMask::causal()}, {.allowed = causal_at(0)});
        add_case(out, text_of("width/", n), {.queries = 5, .keys = 9, .width = n, .value_width = 128 - n}, {}, {});
    }
    add_case(out, "causal/long", {.rows = 1, .queries = 300, .keys = 300, .heads = 4, .key_heads = 1, .width = 16},
             {.mask = AttentionMask::causal()}, {.allowed = causal_at(0)});
    add_case(out, "grouped", {.queries = 40, .keys = 50, .heads = 6, .key_heads = 2, .width = 5, .value_width = 7}, {},
             {});
    add_case(out, "causal/last_queries", {.queries = 20, .keys = 150}, {.mask = AttentionMask::causal()},
             {.allowed = causal_at(130)});
    // More queries than keys: the first ones see nothing and give zeros.
    add_case(out, "causal/more_queries", {.queries = 80, .keys = 50}, {.mask = AttentionMask::causal()},
             {.allowed = causal_at(-30)});
    for (const std::int64_t group : {1, 4, 7})
        add_case(out, text_of("one_query/", group),
                 {.queries = 1, .keys = 530, .heads = 2 * group, .width = 24, .value_width = 40},
                 {.mask = AttentionMask::causal()}, {});
    add_case(out, "given_offset", {.queries = 30, .keys = 64}, {.mask = AttentionMask::causal(), .offset = 7},
             {.allowed = causal_at(7)});
    add_case(out, "row_offsets", {.queries = 10, .keys = 64},
             {.mask = AttentionMask::causal(), .offsets = i64({3, 40})},
             {.allowed = [](std::int64_t b, std::int64_t i, std::int64_t j) { return j <= i + (b ? 40 : 3); }});
}

void add_masks(Cases& out) {
    add_case(out, "prefix", {.queries = 70, .keys = 70}, {.mask = AttentionMask::prefix(21)},
             {.allowed = [](std::int64_t, std::int64_t i, std::int64_t j) { return j <= i || j < 21; }});
    for (const std::int64_t window : {1, 5, 100})
        add_case(
            out, text_of("sliding/", window), {.queries = 260, .keys = 260, .heads = 1, .key_heads = 1},
            {.mask = AttentionMask::sliding(window)},
            {.allowed = [window](std::int64_t, std::int64_t i, std::int64_t j) { return j <= i && j > i - window; }});
    add_case(out, "bidirectional_sliding", {.queries = 260, .keys = 260, .heads = 1, .key_heads = 1},
             {.mask = AttentionMask::bidirectional_sliding(9)},
             {.allowed = [](std::int64_t, std::int64_t i, std::int64_t j) { return j >= i - 9 && j <= i + 9; }});

    AttentionMask padded = AttentionMask::bidirectional();
    padded.lengths = i64({20, 0});
    add_case(out, "lengths", {}, {.mask = padded},
             {.allowed = [](std::int64_t b, std::int64_t, std::int64_t j) { return j < (b ? 0 : 20); }});
    AttentionMask left = AttentionMask::causal();
    left.starts = i64({0, 11});
    add_case(out, "starts", {}, {.mask = left},
             {.allowed = [](std::int64_t b, std::int64_t i, std::int64_t j) { return j >= (b ? 11 : 0) && j <= i; }});
    AttentionMask prefixes = AttentionMask::causal();
    prefixes.prefix_lengths = i64({4, 17});
    add_case(out, "prefix_lengths", {}, {.mask = prefixes},
             {.allowed = [](std::int64_t b, std::int64_t i, std::int64_t j) { return j <= i || j < (b ? 17 : 4); }});
    // Documents of 13 tokens packed one after the other.
    AttentionMask documents = AttentionMask::causal();
    std::vector<std::int64_t> first_keys;
    for (int i = 0; i < 2 * 150; ++i) first_keys.push_back(i % 150 / 13 * 13);
    documents.first_keys = Tensor::from(first_keys, {2, 150});
    add_case(out, "documents", {.queries = 150, .keys = 150, .heads = 1, .key_heads = 1}, {.mask = documents},
             {.allowed = [](std::int64_t, std::int64_t i, std::int64_t j) { return j <= i && j >= i / 13 * 13; }});
}

void add_scores(Cases& out) {
    const auto causal = [](std::int64_t, std::int64_t i, std::int64_t j) { return j <= i; };
    const AttentionMask causal_mask = AttentionMask::causal();
    add_case(out, "scale", {}, {.scale = 0.7}, {.scale = 0.7});
    add_case(out, "soft_cap", {.queries = 40, .keys = 40}, {.mask = causal_mask, .scale = 1.0, .soft_cap = 1.5},
             {.allowed = causal, .scale = 1, .soft_cap = 1.5});
    add_case(out, "dropout", {.queries = 50, .keys = 50},
             {.mask = causal_mask, .dropout = 0.3, .dropout_key = {.seed = 5, .stream = 6}},
             {.allowed = causal, .dropout = 0.3, .dropout_key = {.seed = 5, .stream = 6}});
    add_case(out, "alibi", {.queries = 40, .keys = 60, .heads = 4},
             {.mask = causal_mask, .alibi_slopes = Tensor::from({0.5f, 0.25f, 0.125f, 0.0625f}, {4})},
             {.allowed = [](std::int64_t, std::int64_t i, std::int64_t j) { return j <= i + 20; },
              .slopes = {0.5, 0.25, 0.125, 0.0625}});
    add_case(out, "alibi/one_query", {.queries = 1, .keys = 60, .heads = 4},
             {.scale = 0.7, .soft_cap = 2, .alibi_slopes = Tensor::from({0.5f, 0.25f, 0.125f, 0.0625f}, {4})},
             {.scale = 0.7, .soft_cap = 2, .slopes = {0.5, 0.25, 0.125, 0.0625}});

    add_biased(out, "whole", {}, {2, 2, 33, 33}, {.mask = causal_mask}, {.allowed = causal});
    add_biased(out, "every_row", {.queries = 70, .keys = 90, .heads = 4}, {4, 70, 90}, {}, {});
    add_biased(out, "every_query", {.heads = 4}, {2, 1, 1, 33}, {}, {});
    add_biased(out, "soft_cap", {.queries = 70}, {1, 2, 70, 33}, {.scale = 1.0, .soft_cap = 2},
               {.scale = 1, .soft_cap = 2});
    add_biased(out, "one_query", {.queries = 1, .keys = 60}, {2, 1, 60}, {}, {});
    add_biased(out, "dropout", {}, {1, 2, 33, 33}, {.dropout = 0.4, .dropout_key = {.seed = 1}},
               {.dropout = 0.4, .dropout_key = {.seed = 1}});
}

const RegisterCases attention_cases{[](Cases& out) {
    add_shapes(out);
    add_masks(out);
    add_scores(out);
}};

}  // namespace
}  // namespace tessera::testing
