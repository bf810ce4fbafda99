// A block: attention, then a feed-forward network, each beside the residual stream. Papers differ in where the norms
// stand; each arrangement is a small class of its own, and all are made of the same parts.
#pragma once

#include "tessera/nn/attention/self_attention.h"
#include "tessera/nn/feed_forward.h"
#include "tessera/nn/module.h"
#include "tessera/nn/norm.h"

namespace tessera::nn {

// What goes into a block. Norms that an arrangement does not use stay empty.
struct BlockParts {
    std::unique_ptr<SelfAttention> attention;
    std::unique_ptr<PositionWise> feed_forward;
    std::unique_ptr<Norm> attention_norm;
    std::unique_ptr<Norm> feed_forward_norm;
    std::unique_ptr<Layer> after_attention_norm;     // sandwich
    std::unique_ptr<Layer> after_feed_forward_norm;  // sandwich
    double dropout = 0;                              // on what each part adds to the stream
};

class Block : public Module {
   public:
    explicit Block(BlockParts parts) : parts_(std::move(parts)) {}

    // x (B, T, width) → (B, T, width)
    virtual Tensor forward(const Tensor& x, const Context& context, Cache* cache = nullptr) const = 0;
    // What forward without a cache gives the first `count` tokens, (B, count, width).
    virtual Tensor forward_first(const Tensor& x, std::int64_t count, const Context& context) const;
    std::unique_ptr<Cache> make_cache(std::int64_t capacity) const { return parts_.attention->make_cache(capacity); }
    const Rope* rope() const { return parts_.attention->rope(); }
    void visit(const Visitor& visitor) override;

   protected:
    BlockParts parts_;
};

//   x ──┬─ norm ─ attention ─(+)─┬─ norm ─ feed-forward ─(+)──
//       └────────────────────────┘└───────────────────────┘
class PreNormBlock : public Block {
   public:
    using Block::Block;
    Tensor forward(const Tensor& x, const Context& context, Cache* cache = nullptr) const override;
    Tensor forward_first(const Tensor& x, std::int64_t count, const Context& context) const override;

   private:
    Tensor after_attention(const Tensor& x, const Tensor& attended, const Context& context) const;
};

//   LayerNorm(x + Sublayer(x)), the original Transformer and BERT.
class PostNormBlock : public Block {
   public:
    using Block::Block;
    Tensor forward(const Tensor& x, const Context& context, Cache* cache = nullptr) const override;
};

//   x + attention(norm(x)) + feed-forward(norm(x)): PaLM with one norm for both, Falcon 40B and GPT-NeoX with one each.
class ParallelBlock : public Block {
   public:
    using Block::Block;
    Tensor forward(const Tensor& x, const Context& context, Cache* cache = nullptr) const override;
};

//   A norm before and after each part: x + norm(attention(norm(x))), then the same with feed-forward.
class SandwichBlock : public Block {
   public:
    using Block::Block;
    Tensor forward(const Tensor& x, const Context& context, Cache* cache = nullptr) const override;
};

}  // namespace tessera::nn
