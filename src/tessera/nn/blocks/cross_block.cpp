#include "tessera/nn/blocks/cross_block.h"

#include "tessera/ops/binary.h"

namespace tessera::nn {
namespace {
enum Use : std::uint64_t { InSelf, AfterSelf, InCross, AfterCross, AfterFeedForward };
}

std::int64_t CrossCache::bytes() const {
    const auto size = [](const Tensor& tensor) {
        return tensor.defined() ? bytes_of(tensor.dtype(), tensor.elements()) : 0;
    };
    return self->bytes() + size(memory.key) + size(memory.value);
}

void CrossCache::clear() {
    self->clear();
    memory = {};
}

void CrossCache::reorder(std::span<const std::int64_t> rows) {
    self->reorder(rows);
    if (!memory.key.defined()) return;
    memory.key = gather_rows(memory.key, rows);
    memory.value = gather_rows(memory.value, rows);
}

Tensor CrossBlock::cross(const Tensor& x, const Memory& memory, const Context& context, CrossCache* cache) const {
    if (!cache)
        return parts_.cross_attention->attend(x, parts_.cross_attention->project(memory.states, context), memory.mask,
                                              context);
    if (!cache->memory.key.defined()) cache->memory = parts_.cross_attention->project(memory.states, context);
    return parts_.cross_attention->attend(x, cache->memory, memory.mask, context);
}

Tensor CrossBlock::forward(const Tensor& x, const Memory& memory, const Context& context, CrossCache* cache) const {
    const bool before = parts_.norms == NormPlacement::Before;
    // One residual step: the part sees the normed stream, or the sum is normed afterwards.
    const auto step = [&](const Tensor& stream, const Layer& norm, Use use, const auto& part) {
        const Tensor sum =
            ops::add(stream, drop(part(before ? norm.forward(stream) : stream), parts_.dropout, context, use));
        return before ? sum : norm.forward(sum);
    };
    Tensor stream = step(x, *parts_.self_attention_norm, AfterSelf, [&](const Tensor& in) {
        return parts_.self_attention->forward(in, context.child(InSelf), cache ? cache->self.get() : nullptr);
    });
    stream = step(stream, *parts_.cross_attention_norm, AfterCross,
                  [&](const Tensor& in) { return cross(in, memory, context.child(InCross), cache); });
    return step(stream, *parts_.feed_forward_norm, AfterFeedForward,
                [&](const Tensor& in) { return parts_.feed_forward->forward(in, context); });
}

std::unique_ptr<CrossCache> CrossBlock::make_cache(std::int64_t capacity) const {
    return std::make_unique<CrossCache>(parts_.self_attention->make_cache(capacity));
}

void CrossBlock::visit(const Visitor& visitor) {
    visitor("self_attention_norm", parts_.self_attention_norm);
    visitor("self_attention", parts_.self_attention);
    visitor("cross_attention_norm", parts_.cross_attention_norm);
    visitor("cross_attention", parts_.cross_attention);
    visitor("feed_forward_norm", parts_.feed_forward_norm);
    visitor("feed_forward", parts_.feed_forward);
}

}  // namespace tessera::nn
