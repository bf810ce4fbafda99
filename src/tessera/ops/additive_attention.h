// Additive attention (Bahdanau et al. 2015): a query looks at a key through one hidden layer,
// score = w_vᵀ·tanh(W_q·q + W_k·k), where the projections are done by the caller.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

struct AdditiveAttention {
    Tensor output;   // (B, Q, V)
    Tensor weights;  // (B, Q, K): what each query looked at
};

// query (B, Q, A), key (B, K, A), w_v (A), value (B, K, V); lengths (B) i64: only so many keys of a row count.
// A row of length 0 gives an output of zero.
AdditiveAttention additive_attention(const Tensor& query, const Tensor& key, const Tensor& w_v, const Tensor& value,
                                     const Tensor& lengths = {});

}  // namespace tessera::ops
