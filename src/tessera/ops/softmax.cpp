#include "tessera/ops/softmax.h"

#include "tessera/kernels/softmax.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

void check_rows(const char* op, const Tensor& x) {
    check(x.defined() && x.rank() >= 1, op, ": needs at least one dimension, not ", x.shape());
    check(is_float(x.dtype()), op, ": needs a float dtype, not ", x.dtype());
}

// `lengths` once per row: the shape of x without its last dimension, repeated by strides of 0.
Tensor lengths_per_row(const Tensor& x, const Tensor& lengths) {
    check(lengths.dtype() == DType::I64, "masked_softmax: lengths are i64, not ", lengths.dtype());
    check(lengths.device() == x.device(), "masked_softmax: x is on ", x.device(), ", lengths on ", lengths.device());
    bool leads = lengths.rank() >= 1 && lengths.rank() < x.rank();
    for (int i = 0; leads && i < lengths.rank(); ++i) leads = lengths.shape()[i] == x.shape()[i];
    check(leads, "masked_softmax: lengths ", lengths.shape(), " is no leading part of x ", x.shape(),
          " without its last dimension");
    Shape shape, strides;
    for (int i = 0; i + 1 < x.rank(); ++i) {
        shape.push_back(x.shape()[i]);
        strides.push_back(i < lengths.rank() ? lengths.strides()[i] : 0);
    }
    return lengths.with_layout(shape, strides, lengths.offset());
}

Tensor softmax_over(const char* op, const Tensor& x, const Tensor& lengths) {
    const Tensor y = x.empty_like();
    kernels::softmax.on(x.device())(x.view(), lengths.view(), y.view());
    return record(op, y, {x}, [y = y.detach(), lengths](const Tensor& dy) -> Gradients {
        const Tensor dx = y.empty_like();
        kernels::softmax_backward.on(y.device())(y.view(), lengths.view(), dy.view(), dx.view());
        return {dx};
    });
}

}  // namespace

Tensor softmax(const Tensor& x) {
    check_rows("softmax", x);
    return softmax_over("softmax", x, {});
}

Tensor masked_softmax(const Tensor& x, const Tensor& lengths) {
    check_rows("masked_softmax", x);
    return softmax_over("masked_softmax", x, lengths_per_row(x, lengths));
}

Tensor log_softmax(const Tensor& x) {
    check_rows("log_softmax", x);
    const Tensor y = x.empty_like();
    kernels::log_softmax.on(x.device())(x.view(), y.view());
    return record("log_softmax", y, {x}, [y = y.detach()](const Tensor& dy) -> Gradients {
        const Tensor dx = y.empty_like();
        kernels::log_softmax_backward.on(y.device())(y.view(), dy.view(), dx.view());
        return {dx};
    });
}

}  // namespace tessera::ops
