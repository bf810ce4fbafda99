#include "tessera/nn/blocks/block.h"

#include "tessera/ops/binary.h"
#include "tessera/ops/views.h"

namespace tessera::nn {
namespace {

// Which of a block's random keys each dropout takes.
enum Use : std::uint64_t { InAttention, OfAttended, OfFed };

}  // namespace

void Block::visit(const Visitor& visitor) {
    visitor("attention_norm", parts_.attention_norm);
    visitor("attention", parts_.attention);
    visitor("after_attention_norm", parts_.after_attention_norm);
    visitor("feed_forward_norm", parts_.feed_forward_norm);
    visitor("feed_forward", parts_.feed_forward);
    visitor("after_feed_forward_norm", parts_.after_feed_forward_norm);
}

Tensor Block::forward_first(const Tensor& x, std::int64_t count, const Context& context) const {
    return ops::slice(forward(x, context), 1, 0, count);
}

Tensor PreNormBlock::forward(const Tensor& x, const Context& context, Cache* cache) const {
    const Tensor normed = parts_.attention_norm->forward(x);
    return after_attention(x, parts_.attention->forward(normed, context.child(InAttention), cache), context);
}

Tensor PreNormBlock::forward_first(const Tensor& x, std::int64_t count, const Context& context) const {
    const Tensor normed = parts_.attention_norm->forward(x);
    const Tensor attended = parts_.attention->forward_first(normed, count, context.child(InAttention));
    return after_attention(ops::slice(x, 1, 0, count), attended, context);
}

Tensor PreNormBlock::after_attention(const Tensor& x, const Tensor& attended, const Context& context) const {
    const auto [normed, middle] =
        parts_.feed_forward_norm->add_forward(drop(attended, parts_.dropout, context, OfAttended), x);
    const Tensor fed = parts_.feed_forward->forward(normed, context);
    return ops::add(middle, drop(fed, parts_.dropout, context, OfFed));
}

Tensor PostNormBlock::forward(const Tensor& x, const Context& context, Cache* cache) const {
    const Tensor attended = parts_.attention->forward(x, context.child(InAttention), cache);
    const Tensor middle =
        parts_.attention_norm->add_forward(drop(attended, parts_.dropout, context, OfAttended), x).normed;
    const Tensor fed = parts_.feed_forward->forward(middle, context);
    return parts_.feed_forward_norm->add_forward(drop(fed, parts_.dropout, context, OfFed), middle).normed;
}

Tensor ParallelBlock::forward(const Tensor& x, const Context& context, Cache* cache) const {
    const Tensor normed = parts_.attention_norm->forward(x);
    const Tensor fed =
        parts_.feed_forward->forward(parts_.feed_forward_norm ? parts_.feed_forward_norm->forward(x) : normed, context);
    const Tensor attended = parts_.attention->forward(normed, context.child(InAttention), cache);
    return ops::add(ops::add(x, drop(attended, parts_.dropout, context, OfAttended)),
                    drop(fed, parts_.dropout, context, OfFed));
}

Tensor SandwichBlock::forward(const Tensor& x, const Context& context, Cache* cache) const {
    const Tensor attended =
        parts_.attention->forward(parts_.attention_norm->forward(x), context.child(InAttention), cache);
    const auto [normed, middle] = parts_.feed_forward_norm->add_forward(
        drop(parts_.after_attention_norm->forward(attended), parts_.dropout, context, OfAttended), x);
    const Tensor fed = parts_.feed_forward->forward(normed, context);
    return ops::add(middle, drop(parts_.after_feed_forward_norm->forward(fed), parts_.dropout, context, OfFed));
}

}  // namespace tessera::nn
