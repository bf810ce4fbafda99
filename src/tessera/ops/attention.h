// Attention (Vaswani et al. 2017) as one op: scores, mask, softmax and the weighted sum without a matrix of scores in
// memory. Memory is linear in the sequence; what is saved for backward is the inputs, the output and one number per
// query and head.
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/core/random.h"
#include "tessera/tensor/tensor.h"

namespace tessera::ops {

// Which keys a query sees: an interval around its position, cut by per-row facts. A value, never a matrix.
struct AttentionMask {
    std::int64_t keys_behind = -1;  // how many keys before the query's position; -1: all
    std::int64_t keys_ahead = -1;   // how many after it; -1: all
    std::int64_t prefix_keys = 0;   // these first keys are seen by all

    // Per-row facts, i64, each optional.
    Tensor lengths = {};         // (B) keys from it on are padding
    Tensor starts = {};          // (B) keys before it are padding (on the left)
    Tensor prefix_lengths = {};  // (B) in place of prefix_keys
    Tensor first_keys = {};      // (B, Tq) a query sees no key before it: where its document begins in a packed row

    // Every tensor by its name. The binding names all members, so that a new one does not compile before it stands
    // here.
    template <class OnTensor>
    void visit(const OnTensor& on_tensor) {
        [[maybe_unused]] auto& [behind, ahead, prefix, ends, begins, prefixes, documents] = *this;
        on_tensor("lengths", ends);
        on_tensor("starts", begins);
        on_tensor("prefix_lengths", prefixes);
        on_tensor("first_keys", documents);
    }

    static AttentionMask bidirectional() { return {}; }
    static AttentionMask causal() { return {.keys_ahead = 0}; }
    // All queries see the first `keys`, and after those the mask is causal.
    static AttentionMask prefix(std::int64_t keys) { return {.keys_ahead = 0, .prefix_keys = keys}; }
    // Causal, and only the last `window` keys, counting the query's own.
    static AttentionMask sliding(std::int64_t window);
    // `window` keys on each side of the query's own.
    static AttentionMask bidirectional_sliding(std::int64_t window);
};

struct AttentionOptions {
    AttentionMask mask = {};
    std::optional<double> scale = {};         // 1/√D unless given
    double soft_cap = 0;                      // scores become cap · tanh(score / cap); 0: none
    double dropout = 0;                       // of the weights
    RandomKey dropout_key = {};               // which weights are dropped
    Tensor bias = {};                         // added to the scores; broadcasts to (B, H, Tq, Tk); differentiable
    Tensor alibi_slopes = {};                 // (H): slope · (key position − query position) is added; no gradient
    std::optional<std::int64_t> offset = {};  // query i stands at position i + offset; Tk − Tq unless given
    Tensor offsets = {};                      // (B) i64: an offset for each row
};

// query (B, Tq, H, D), key (B, Tk, KH, D), value (B, Tk, KH, Dv) → (B, Tq, H, Dv). H must be a multiple of KH: query
// head h reads key head h / (H / KH). Only the last dimension must be dense; heads split off a wider tensor are read
// where they are. A query that sees no key gives zeros.
Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionOptions& options = {});

}  // namespace tessera::ops
