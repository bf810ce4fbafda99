// Softmax attention without a matrix of scores in memory (FlashAttention: Dao et al. 2022, 2023).
//
//     score(i, j) = bias(i, j) + slope · (j − position(i)) + cap(scale · query(i) · key(j))
//     out(i)      = Σ_j weight(i, j) · value(j),   weight = dropout(softmax over the allowed j of score)
//
// Shapes: query (B, Tq, H, D), key (B, Tk, KH, D), value (B, Tk, KH, Dv), out (B, Tq, H, Dv), with H a multiple of KH:
// query head h reads key head h / (H / KH). Their last dimension has stride 1; the others are free. log_sum (B, H, Tq),
// contiguous, is the natural log of the sum of exp(score) over the allowed keys, −infinity where there is none; such a
// query gives zeros and zero gradients. What is summed is summed in the compute type: float for the 16-bit dtypes.
#pragma once

#include <cstdint>

#include "tessera/core/random.h"
#include "tessera/kernels/slot.h"

namespace tessera::kernels {

struct KeyRange {
    std::int64_t begin, end;
};

// Which keys a query may see: always one interval. The pointers are per-row facts on the views' device, or null.
struct KeyMask {
    std::int64_t behind = -1;                  // how many keys before the query's position; -1: all
    std::int64_t ahead = -1;                   // how many after it; -1: all
    std::int64_t prefix = 0;                   // keys before this one are allowed whatever `ahead` says
    std::int64_t offset = 0;                   // query i stands at position i + offset
    const std::int64_t* offsets = nullptr;     // (B) in place of `offset`
    const std::int64_t* prefixes = nullptr;    // (B) in place of `prefix`
    const std::int64_t* starts = nullptr;      // (B) no key before it
    const std::int64_t* lengths = nullptr;     // (B) no key from it on
    const std::int64_t* first_keys = nullptr;  // (B, Tq) no key before it
    const bool* hidden_keys = nullptr;         // (B, Tk) true: nobody sees this key. The one exception to the interval

    constexpr std::int64_t position(std::int64_t row, std::int64_t query) const {
        return query + (offsets ? offsets[row] : offset);
    }
    constexpr KeyRange range(std::int64_t row, std::int64_t query, std::int64_t queries, std::int64_t keys) const {
        const std::int64_t at = position(row, query), first = prefixes ? prefixes[row] : prefix;
        std::int64_t begin = behind < 0 ? 0 : at - behind, end = ahead < 0 ? keys : at + ahead + 1;
        if (end < first) end = first;
        if (starts && begin < starts[row]) begin = starts[row];
        if (first_keys && begin < first_keys[row * queries + query]) begin = first_keys[row * queries + query];
        if (lengths && end > lengths[row]) end = lengths[row];
        if (begin < 0) begin = 0;
        if (end > keys) end = keys;
        return begin < end ? KeyRange{begin, end} : KeyRange{0, 0};
    }
};

struct AttentionSettings {
    double scale = 1;
    double soft_cap = 0;  // cap(s) = soft_cap · tanh(s / soft_cap); 0: none
    double dropout = 0;   // weight ((b·H + h)·Tq + i)·Tk + j is kept iff its random bits ≥ dropout_threshold
    RandomKey dropout_key;
    KeyMask mask;
    View bias;    // (B, H, Tq, Tk) of the query's dtype, any strides; undefined: none
    View slopes;  // (H) f32, contiguous: ALiBi (Press et al. 2021); undefined: none

    constexpr std::uint32_t dropout_threshold() const {
        return dropout >= 1 ? 0xffffffffu : static_cast<std::uint32_t>(dropout * 4294967296.0);
    }
};

struct AttentionForward {
    View query, key, value;  // one dtype
    View out;                // the query's dtype or its compute type
    View log_sum;            // the compute type
};

// Recomputes the weights from log_sum. `out` and `log_sum` may be those of a softmax over more keys than these: then
// the gradients are those of this part of it.
struct AttentionBackward {
    View query, key, value, out, log_sum, out_gradient;  // out and out_gradient share a dtype: query's or compute type
    View query_gradient, key_gradient, value_gradient;   // query's dtype or compute type; undefined: not wanted
};

inline Slot<void(const AttentionSettings&, const AttentionForward&)> attention{"attention"};
inline Slot<void(const AttentionSettings&, const AttentionBackward&)> attention_backward{"attention_backward"};
// The gradient of settings.bias into a contiguous (B or 1, H or 1, Tq or 1, Tk or 1) of the compute type, summed where
// it is 1.
inline Slot<void(const AttentionSettings&, const AttentionBackward&, const View& bias_gradient)>
    attention_bias_gradient{"attention_bias_gradient"};

// One softmax over two disjoint sets of keys, from each one's own: out (B, T, H, Dv) and log_sum (B, H, T) of both in,
// the merged ones out. The parts are of the compute type; `out` is of any float dtype. All contiguous.
struct AttentionParts {
    View first_out, first_log_sum, second_out, second_log_sum;
    View out, log_sum;
};
inline Slot<void(const AttentionParts&)> attention_merge{"attention_merge"};

}  // namespace tessera::kernels
