#include "tessera/nn/attention/cache.h"

#include "tessera/core/reserved_memory.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::nn {
namespace {

Tensor reserved(const Shape& shape, DType dtype, Device device) {
    if (device.kind != DeviceKind::CPU) return Tensor::empty(shape, dtype, device);
    const auto bytes = static_cast<std::size_t>(bytes_of(dtype, shape.elements()));
    const std::shared_ptr<void> memory = reserve_memory(bytes);
    return {std::make_shared<Storage>(device, memory.get(), bytes, memory), dtype, shape, contiguous_strides(shape), 0};
}

void copy_rows(const Tensor& from, std::span<const std::int64_t> rows, const Tensor& to) {
    for (std::size_t i = 0; i < rows.size(); ++i)
        ops::select(to, 0, static_cast<std::int64_t>(i)).copy_from(ops::select(from, 0, rows[i]));
}

bool changes_nothing(std::span<const std::int64_t> rows, std::int64_t count) {
    if (static_cast<std::int64_t>(rows.size()) != count) return false;
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i] != static_cast<std::int64_t>(i)) return false;
    return true;
}

}  // namespace

Tensor gather_rows(const Tensor& x, std::span<const std::int64_t> rows) {
    Shape shape = x.shape();
    shape[0] = static_cast<std::int64_t>(rows.size());
    const Tensor out = Tensor::empty(shape, x.dtype(), x.device());
    copy_rows(x, rows, out);
    return out;
}

Tensor GrowingBuffer::append(const Tensor& rows) {
    check(!recording() || !rows.requires_grad(), "cache: caches are for inference; use them under NoGrad");
    const std::int64_t count = rows.size(1);
    check(length_ + count <= capacity_, "cache: ", length_ + count, " tokens do not fit a capacity of ", capacity_);
    if (!buffer_.defined()) {
        Shape shape = rows.shape();
        shape[1] = capacity_;
        buffer_ = reserved(shape, rows.dtype(), rows.device());
    }
    check(rows.size(0) == buffer_.size(0), "cache: a batch of ", rows.size(0), " after one of ", buffer_.size(0));
    ops::slice(buffer_, 1, length_, length_ + count).copy_from(rows);
    length_ += count;
    return ops::slice(buffer_, 1, 0, length_);
}

void GrowingBuffer::reorder(std::span<const std::int64_t> rows) {
    if (!buffer_.defined() || changes_nothing(rows, buffer_.size(0))) return;
    Shape shape = buffer_.shape();
    shape[0] = static_cast<std::int64_t>(rows.size());
    if (!spare_.defined() || spare_.shape() != shape) spare_ = reserved(shape, buffer_.dtype(), buffer_.device());
    copy_rows(ops::slice(buffer_, 1, 0, length_), rows, ops::slice(spare_, 1, 0, length_));
    std::swap(buffer_, spare_);
    if (spare_.shape() != shape) spare_ = {};
}

std::int64_t GrowingBuffer::bytes() const {
    if (!buffer_.defined()) return 0;
    const std::int64_t whole = bytes_of(buffer_.dtype(), buffer_.elements());
    return buffer_.device().kind == DeviceKind::CPU ? whole / capacity_ * length_ : whole;
}

}  // namespace tessera::nn
