#include "nn/attention/cache.h"

#include "ops/views.h"
#include "tensor/tape.h"

namespace tessera::nn {

Tensor GrowingBuffer::append(const Tensor& rows) {
    check(!recording() || !rows.requires_grad(), "cache: caches are for inference; use them under NoGrad");
    if (!buffer_.defined()) {
        Shape shape = rows.shape();
        shape[1] = capacity_;
        buffer_ = Tensor::empty(shape, rows.dtype(), rows.device());
    }
    const std::int64_t count = rows.size(1);
    check(rows.size(0) == buffer_.size(0), "cache: a batch of ", rows.size(0), " after one of ", buffer_.size(0));
    check(length_ + count <= capacity_, "cache: ", length_ + count, " tokens do not fit a capacity of ", capacity_);
    ops::slice(buffer_, 1, length_, length_ + count).copy_from(rows);
    length_ += count;
    return ops::slice(buffer_, 1, 0, length_);
}

std::int64_t GrowingBuffer::bytes() const {
    return buffer_.defined() ? bytes_of(buffer_.dtype(), buffer_.elements()) : 0;
}

}  // namespace tessera::nn
