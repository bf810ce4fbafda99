// The interface of self attention: tokens attend to tokens of the same sequence, now or kept in a cache.
#pragma once

#include "tessera/nn/attention/cache.h"
#include "tessera/nn/context.h"
#include "tessera/nn/module.h"
#include "tessera/nn/rope.h"

namespace tessera::nn {

class SelfAttention : public Module {
   public:
    // x (B, T, width) → (B, T, width). With a cache, x holds the newest tokens only.
    virtual Tensor forward(const Tensor& x, const Context& context, Cache* cache = nullptr) const = 0;
    // What forward without a cache gives the first `count` tokens, (B, count, width). They look at all tokens, but no
    // others are asked: less work where only these are read.
    virtual Tensor forward_first(const Tensor& x, std::int64_t count, const Context& context) const;
    virtual std::unique_ptr<Cache> make_cache(std::int64_t capacity) const = 0;
    // What turns its queries and keys; null where nothing does.
    virtual const Rope* rope() const { return nullptr; }
};

// first, first + 1, …
Tensor consecutive_positions(std::int64_t first, std::int64_t count, Device device);
// The context's positions, or 0, 1, 2, … counted on from what the cache has seen.
Tensor positions_or_default(const Context& context, std::int64_t count, const Cache* cache, Device device);

}  // namespace tessera::nn
