#include "tessera/ops/binary.h"

#include "tessera/kernels/binary.h"
#include "tessera/kernels/reduce.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

Tensor broadcast_and_run(const Slot<kernels::Binary>& slot, const Tensor& a, const Tensor& b) {
    check(a.dtype() == b.dtype(), slot.name(), ": dtypes ", a.dtype(), " and ", b.dtype(), " differ");
    check(a.device() == b.device(), slot.name(), ": devices ", a.device(), " and ", b.device(), " differ");
    const Shape shape = broadcast(a.shape(), b.shape(), slot.name());
    const Tensor out = Tensor::empty(shape, a.dtype(), a.device());
    const NoGrad no_grad;
    slot.on(a.device())(expand(a, shape).view(), expand(b, shape).view(), out.view());
    return out;
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
    return record(
        "add", broadcast_and_run(kernels::add, a, b), {a, b},
        [left = a.shape(), right = b.shape(), wants_a = a.requires_grad(),
         wants_b = b.requires_grad()](const Tensor& gradient) -> Gradients {
            return {wants_a ? sum_to(gradient, left) : Tensor(), wants_b ? sum_to(gradient, right) : Tensor()};
        });
}

Tensor sub(const Tensor& a, const Tensor& b) {
    return record("sub", broadcast_and_run(kernels::sub, a, b), {a, b},
                  [left = a.shape(), right = b.shape(), wants_a = a.requires_grad(),
                   wants_b = b.requires_grad()](const Tensor& gradient) -> Gradients {
                      return {wants_a ? sum_to(gradient, left) : Tensor(),
                              wants_b ? scale(sum_to(gradient, right), -1) : Tensor()};
                  });
}

Tensor mul(const Tensor& a, const Tensor& b) {
    // Each operand is kept only for the other's gradient.
    const bool wants_a = a.requires_grad(), wants_b = b.requires_grad();
    return record("mul", broadcast_and_run(kernels::mul, a, b), {a, b},
                  [left = a.shape(), right = b.shape(), a = wants_b ? a.detach() : Tensor(),
                   b = wants_a ? b.detach() : Tensor()](const Tensor& gradient) -> Gradients {
                      return {b.defined() ? sum_to(mul(gradient, b), left) : Tensor(),
                              a.defined() ? sum_to(mul(gradient, a), right) : Tensor()};
                  });
}

Tensor div(const Tensor& a, const Tensor& b) {
    const Tensor out = broadcast_and_run(kernels::div, a, b);
    return record("div", out, {a, b},
                  [out = b.requires_grad() ? out : Tensor(), b = b.detach(), shape = a.shape(),
                   wants_a = a.requires_grad()](const Tensor& gradient) -> Gradients {
                      const Tensor scaled = div(gradient, b);
                      return {wants_a ? sum_to(scaled, shape) : Tensor(),
                              out.defined() ? scale(sum_to(mul(scaled, out), b.shape()), -1) : Tensor()};
                  });
}

Tensor scale(const Tensor& x, double factor) { return mul(x, Tensor::scalar(factor, x.dtype(), x.device())); }
Tensor shift(const Tensor& x, double offset) { return add(x, Tensor::scalar(offset, x.dtype(), x.device())); }

Tensor sum_to(const Tensor& gradient, const Shape& shape) {
    if (gradient.shape() == shape) return gradient;
    Shape aligned = Shape::of_rank(gradient.rank(), 1);
    for (int i = 1; i <= shape.rank(); ++i) aligned[gradient.rank() - i] = shape[shape.rank() - i];
    const Tensor out = Tensor::empty(aligned, gradient.dtype(), gradient.device());
    kernels::sum.on(gradient.device())(gradient.view(), out.view());
    return reshape(out, shape);
}

}  // namespace tessera::ops
