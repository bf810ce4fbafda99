// Scaled dot-product attention with several heads (Vaswani et al. 2017). kv_heads = heads is MHA, 1 is MQA (Shazeer
// 2019), between them GQA (Ainslie et al. 2023): the one class serves all three.
#pragma once

#include <array>
#include <optional>

#include "tessera/nn/attention/alibi.h"
#include "tessera/nn/attention/self_attention.h"
#include "tessera/nn/linear.h"
#include "tessera/nn/norm.h"
#include "tessera/nn/rope.h"

namespace tessera::nn {

struct DotProductSettings {
    std::int64_t width = 0;
    std::int64_t heads = 1;
    std::int64_t kv_heads = 0;    // 0: as many as heads
    std::int64_t head_width = 0;  // 0: width / heads
    bool input_bias = false;      // on query, key and value
    bool output_bias = false;
    std::optional<RopeSettings> rope = {};
    std::int64_t window = 0;           // 0: the context's mask as it is; else at most the last `window` keys
    std::optional<double> scale = {};  // 1/√head_width unless given
    double soft_cap = 0;
    double dropout = 0;
    std::optional<AlibiSettings> alibi = {};  // linear biases instead of positions
    bool query_key_norm = false;              // RMSNorm over each head's query and key before RoPE
    double norm_eps = 1e-6;
    NormWeight norm_weight = NormWeight::Plain;
    std::int64_t memory_width = 0;  // of what keys and values are made from, in cross attention; 0: width
};

class DotProductAttention : public SelfAttention {
   public:
    explicit DotProductAttention(const DotProductSettings& settings);

    Tensor forward(const Tensor& x, const Context& context, Cache* cache = nullptr) const override;
    Tensor forward_first(const Tensor& x, std::int64_t count, const Context& context) const override;
    std::unique_ptr<Cache> make_cache(std::int64_t capacity) const override;
    const Rope* rope() const override { return &rope_; }
    void visit(const Visitor& visitor) override;

    // Cross attention in two steps, so that what comes from the memory is made once: (B, S, memory_width) → keys,
    // values.
    KeyValues project(const Tensor& memory, const Context& context) const;
    Tensor attend(const Tensor& x, const KeyValues& memory, const ops::AttentionMask& mask,
                  const Context& context) const;

    const DotProductSettings& settings() const { return settings_; }

    Linear query, key, value, output;
    std::unique_ptr<RmsNorm> query_norm, key_norm;

   private:
    // Projections of x (B, T, width), cut into heads: (B, T, heads, head_width) each.
    template <std::size_t count>
    std::array<Tensor, count> heads_of(const std::array<const Linear*, count>& projections, const Tensor& x,
                                       const Context& context) const;
    Tensor output_of(const Tensor& mixed, const Context& context, DType dtype) const;
    ops::AttentionOptions options(const Context& context) const;
    Tensor weights_of(const Tensor& q, const Tensor& k, const ops::AttentionMask& mask) const;
    void add_alibi(ops::AttentionOptions& how, const KeyValues& seen, std::int64_t count, const Tensor& starts,
                   Cache* cache) const;

    DotProductSettings settings_;
    Rope rope_;
    Tensor alibi_slopes_;
};

}  // namespace tessera::nn
