#include "tessera/nn/attention/ring_cache.h"

#include <algorithm>

#include "tessera/ops/concat.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::nn {

RingCache::RingCache(std::int64_t window) : window_(window) {
    check(window >= 1, "ring cache: window ", window, " is less than 1");
}

KeyValues RingCache::append(const Tensor& key, const Tensor& value, bool keep_order) {
    check(!recording() || !key.requires_grad(), "cache: caches are for inference; use them under NoGrad");
    const std::int64_t count = key.size(1);
    if (!keys_.defined()) {
        const auto ring_for = [&](const Tensor& newest) {
            return Tensor::empty({newest.size(0), window_, newest.size(2), newest.size(3)}, newest.dtype(),
                                 newest.device());
        };
        keys_ = ring_for(key);
        values_ = ring_for(value);
    }
    check(key.size(0) == keys_.size(0), "cache: a batch of ", key.size(0), " after one of ", keys_.size(0));
    KeyValues visible;
    const bool slots_suffice = count == 1 && !keep_order;
    if (!slots_suffice) {
        const std::int64_t before = std::min(length_, window_ - 1);
        visible = {in_order(keys_, key), in_order(values_, value), length_ - before, true};
    }
    write(keys_, key);
    write(values_, value);
    length_ += count;
    if (slots_suffice) {
        const std::int64_t filled = std::min(length_, window_);
        visible = {ops::slice(keys_, 1, 0, filled), ops::slice(values_, 1, 0, filled), 0, false};
    }
    return visible;
}

// The last window − 1 tokens before the newest, oldest first, then the newest.
Tensor RingCache::in_order(const Tensor& ring, const Tensor& newest) const {
    const std::int64_t before = std::min(length_, window_ - 1);
    if (before == 0) return newest;
    const std::int64_t begin = (length_ - before) % window_;
    const std::int64_t tail = std::min(before, window_ - begin);  // up to the ring's end, then from its start
    const Tensor older = ops::slice(ring, 1, begin, begin + tail);
    if (tail == before) return ops::concat({older, newest}, 1);
    return ops::concat({older, ops::slice(ring, 1, 0, before - tail), newest}, 1);
}

void RingCache::write(Tensor& ring, const Tensor& newest) const {
    const std::int64_t count = newest.size(1), kept = std::min(count, window_);
    const std::int64_t first = (length_ + count - kept) % window_;
    const std::int64_t tail = std::min(kept, window_ - first);
    ops::slice(ring, 1, first, first + tail).copy_from(ops::slice(newest, 1, count - kept, count - kept + tail));
    if (tail < kept) ops::slice(ring, 1, 0, kept - tail).copy_from(ops::slice(newest, 1, count - kept + tail, count));
}

void RingCache::reorder(std::span<const std::int64_t> rows) {
    if (!keys_.defined()) return;
    keys_ = gather_rows(keys_, rows);
    values_ = gather_rows(values_, rows);
}

// Once the ring has gone round, the window before an earlier token has been overwritten.
bool RingCache::can_truncate(std::int64_t tokens) const { return tokens >= length_ || length_ <= window_; }

void RingCache::truncate(std::int64_t tokens) {
    check(can_truncate(tokens), "ring cache: what stood before token ", tokens, " has been overwritten");
    length_ = std::min(length_, tokens);
}

std::int64_t RingCache::bytes() const {
    const auto size = [](const Tensor& ring) { return ring.defined() ? bytes_of(ring.dtype(), ring.elements()) : 0; };
    return size(keys_) + size(values_);
}

}  // namespace tessera::nn
