// Multi-head latent attention (DeepSeek-V2, 2024). Keys and values are made from one small latent per token,
//
//     c = W_DKV h,   k = W_UK c,   v = W_UV c,
//
// so the cache holds c and one rotary key shared by all heads, nothing else. Two ways to compute the same:
//   expanded   k and v are made for every token, then ordinary attention: cheapest for a prompt and for training;
//   absorbed   W_UK is multiplied into the query and W_UV into the output, and heads attend to c itself: cheapest for a
//              new token against a long cache, because nothing is expanded per cached token.
#pragma once

#include <optional>

#include "tessera/nn/attention/self_attention.h"
#include "tessera/nn/linear.h"
#include "tessera/nn/norm.h"
#include "tessera/nn/rope.h"

namespace tessera::nn {

struct LatentSettings {
    std::int64_t width = 0;
    std::int64_t heads = 1;
    std::int64_t query_latent = 0;   // 0: queries are not compressed
    std::int64_t latent = 0;         // c's width
    std::int64_t content_width = 0;  // of a head's query and key, without the rotary part
    std::int64_t rope_width = 0;     // of the rotary part
    std::int64_t value_width = 0;    // of a head's value
    RopeSettings rope = {};
    std::optional<double> scale = {};  // 1/√(content + rope) unless given
    bool has_bias = false;             // on the two down-projections and the output
    double norm_eps = 1e-6;
    double dropout = 0;
};

enum class LatentForm { Automatic, Expanded, Absorbed };  // automatic: absorbed for one new token against a cache

class LatentCache : public Cache {
   public:
    explicit LatentCache(std::int64_t capacity) : tokens_(capacity) {}
    Tensor append(const Tensor& latent_and_rope) { return tokens_.append(latent_and_rope); }
    std::int64_t length() const override { return tokens_.length(); }
    std::int64_t bytes() const override { return tokens_.bytes(); }
    void clear() override { tokens_.clear(); }
    void reorder(std::span<const std::int64_t> rows) override { tokens_.reorder(rows); }
    void truncate(std::int64_t tokens) override { tokens_.truncate(tokens); }

   private:
    GrowingBuffer tokens_;  // (B, T, 1, latent + rope)
};

class LatentAttention : public SelfAttention {
   public:
    explicit LatentAttention(const LatentSettings& settings);

    Tensor forward(const Tensor& x, const Context& context, Cache* cache = nullptr) const override;
    Tensor forward(const Tensor& x, const Context& context, Cache* cache, LatentForm form) const;
    std::unique_ptr<Cache> make_cache(std::int64_t capacity) const override;
    const Rope* rope() const override { return &rope_; }
    void visit(const Visitor& visitor) override;
    const LatentSettings& settings() const { return settings_; }

    Linear query;                 // when queries are not compressed
    Linear query_down, query_up;  // when they are
    Linear latent_down;           // h → [c, rotary key]
    Linear latent_up;             // c → per head [k, v]
    Linear output;
    std::unique_ptr<RmsNorm> query_norm;
    RmsNorm latent_norm;

   private:
    Tensor queries(const Tensor& x, const Tensor& positions,
                   const Context& context) const;  // (B, T, H, content + rope)
    Tensor expanded(const Tensor& q, const Tensor& tokens, const ops::AttentionOptions& how,
                    const Context& context) const;
    Tensor absorbed(const Tensor& q, const Tensor& tokens, const ops::AttentionOptions& how) const;
    Tensor head_weights(DType dtype) const;  // latent_up's weight as (H, content + value, latent)

    LatentSettings settings_;
    Rope rope_;
};

}  // namespace tessera::nn
