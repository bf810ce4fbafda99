// Attention to a window around each token and to the few global tokens of the context, which see everything through
// projections of their own (Longformer: Beltagy et al. 2020). Linear in the sequence. It has no dropout of weights.
#pragma once

#include "tessera/nn/attention/self_attention.h"
#include "tessera/nn/linear.h"

namespace tessera::nn {

struct GlobalLocalSettings {
    std::int64_t width = 0;
    std::int64_t heads = 1;
    std::int64_t window = 0;  // even: half of it on each side
};

class GlobalLocalAttention : public SelfAttention {
   public:
    explicit GlobalLocalAttention(const GlobalLocalSettings& settings);

    // The context brings global_tokens and, in the mask, the lengths; its other limits are refused.
    Tensor forward(const Tensor& x, const Context& context, Cache* cache = nullptr) const override;
    std::unique_ptr<Cache> make_cache(std::int64_t capacity) const override;  // throws: tokens ahead are seen
    void visit(const Visitor& visitor) override;

    Linear query, key, value, output;
    Linear global_query, global_key, global_value;

   private:
    GlobalLocalSettings settings_;
};

}  // namespace tessera::nn
