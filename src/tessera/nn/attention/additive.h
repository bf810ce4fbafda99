// Additive attention (Bahdanau et al. 2014): a score is w_vᵀ tanh(W_q q + W_k k), for queries and keys of different
// widths.
#pragma once

#include "tessera/nn/linear.h"
#include "tessera/ops/additive_attention.h"

namespace tessera::nn {

struct AdditiveSettings {
    std::int64_t query_width = 0;
    std::int64_t key_width = 0;
    std::int64_t hidden = 0;
};

class AdditiveAttention : public Module {
   public:
    explicit AdditiveAttention(const AdditiveSettings& settings);

    // What comes from the keys is made once and used at every step of a decoder.
    Tensor project_keys(const Tensor& keys) const { return key.forward(keys); }  // (B, K, key width) → (B, K, hidden)
    // queries (B, Q, query width), values (B, K, V), lengths i64 (B) or undefined → (B, Q, V), and weights (B, Q, K)
    ops::AdditiveAttention forward(const Tensor& queries, const Tensor& projected_keys, const Tensor& values,
                                   const Tensor& lengths) const;
    void visit(const Visitor& visitor) override;

    Linear query, key;
    Tensor score;  // w_v (hidden)
};

}  // namespace tessera::nn
