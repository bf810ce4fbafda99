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
    const auto attend_self = [&](const Tensor& in) {
        const Tensor out =
            parts_.self_attention->forward(in, context.child(InSelf), cache ? cache->self.get() : nullptr);
        return drop(out, parts_.dropout, context, AfterSelf);
    };
    const auto attend_memory = [&](const Tensor& in) {
        return drop(cross(in, memory, context.child(InCross), cache), parts_.dropout, context, AfterCross);
    };
    const auto feed = [&](const Tensor& in) {
        return drop(parts_.feed_forward->forward(in, context), parts_.dropout, context, AfterFeedForward);
    };
    const Norm &first = *parts_.self_attention_norm, &second = *parts_.cross_attention_norm,
               &third = *parts_.feed_forward_norm;
    if (parts_.norms == NormPlacement::After) {
        const Tensor after_self = first.add_forward(attend_self(x), x).normed;
        const Tensor after_cross = second.add_forward(attend_memory(after_self), after_self).normed;
        return third.add_forward(feed(after_cross), after_cross).normed;
    }
    const ops::AddNorm after_self = second.add_forward(attend_self(first.forward(x)), x);
    const ops::AddNorm after_cross = third.add_forward(attend_memory(after_self.normed), after_self.sum);
    return ops::add(after_cross.sum, feed(after_cross.normed));
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
