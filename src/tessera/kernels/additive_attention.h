// Additive attention weights (Bahdanau et al. 2015): softmax over the first lengths[b] keys of Σ_a w_v[a]·tanh(q[a] +
// k[a]).
//
//     query (B, Q, A)   key (B, K, A)   w_v (A)   lengths (B) i64 or undefined   weights (B, Q, K)
//
// Keys past the length, and all keys of a row of length 0, get a weight of zero. Views are contiguous and share one
// dtype, f32 or f64. No (B, Q, K, A) is ever stored: backward computes the tanh again.
#pragma once

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

struct AdditiveAttentionViews {
    View query, key, w_v, lengths, weights;
};
struct AdditiveAttentionGradients {
    View weights;     // in: the gradient of the weights
    View query, key;  // out
    View w_v;         // out, (B, A): the sum over the batch is left to the caller
};

inline Slot<void(const AdditiveAttentionViews& views)> additive_attention{"additive_attention"};
inline Slot<void(const AdditiveAttentionViews& views, const AdditiveAttentionGradients& gradients)>
    additive_attention_backward{"additive_attention_backward"};

}  // namespace tessera::kernels
