// A decoder's block in an encoder–decoder: self attention, cross attention to the encoder's states, feed-forward.
#pragma once

#include "tessera/nn/attention/dot_product.h"
#include "tessera/nn/feed_forward.h"
#include "tessera/nn/module.h"
#include "tessera/nn/norm.h"

namespace tessera::nn {

enum class NormPlacement {
    Before,
    After
};  // before each part (T5), or after each sum (the original Transformer, BART)

struct CrossBlockParts {
    std::unique_ptr<DotProductAttention> self_attention, cross_attention;
    std::unique_ptr<PositionWise> feed_forward;
    std::unique_ptr<Norm> self_attention_norm, cross_attention_norm, feed_forward_norm;
    NormPlacement norms = NormPlacement::After;
    double dropout = 0;
};

// The encoder's states as seen by a decoder: the states themselves and which of them are padding.
struct Memory {
    Tensor states;                 // (B, S, width)
    ops::AttentionMask mask = {};  // lengths, mostly
};

// Keeps self attention's keys and values, and the memory's, which are made at the first step only.
class CrossCache : public Cache {
   public:
    explicit CrossCache(std::unique_ptr<Cache> own) : self(std::move(own)) {}
    std::int64_t length() const override { return self->length(); }
    std::int64_t bytes() const override;
    void clear() override;
    void reorder(std::span<const std::int64_t> rows) override;
    void truncate(std::int64_t tokens) override { self->truncate(tokens); }
    bool can_truncate(std::int64_t tokens) const override { return self->can_truncate(tokens); }

    std::unique_ptr<Cache> self;
    KeyValues memory;
};

class CrossBlock : public Module {
   public:
    explicit CrossBlock(CrossBlockParts parts) : parts_(std::move(parts)) {}

    Tensor forward(const Tensor& x, const Memory& memory, const Context& context, CrossCache* cache = nullptr) const;
    std::unique_ptr<CrossCache> make_cache(std::int64_t capacity) const;
    void visit(const Visitor& visitor) override;
    NormPlacement norms() const { return parts_.norms; }

   private:
    Tensor cross(const Tensor& x, const Memory& memory, const Context& context, CrossCache* cache) const;

    CrossBlockParts parts_;
};

}  // namespace tessera::nn
