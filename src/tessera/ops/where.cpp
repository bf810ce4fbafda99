#include "tessera/ops/where.h"

#include "tessera/kernels/where.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
    check(condition.dtype() == DType::Bool, "where: the condition must be bool, not ", condition.dtype());
    check(a.dtype() == b.dtype(), "where: dtypes ", a.dtype(), " and ", b.dtype(), " differ");
    check(a.device() == b.device() && a.device() == condition.device(), "where: devices ", condition.device(), ", ",
          a.device(), " and ", b.device(), " differ");
    const Shape shape = broadcast(condition.shape(), broadcast(a.shape(), b.shape(), "where"), "where");
    const Tensor out = Tensor::empty(shape, a.dtype(), a.device());
    kernels::where.on(a.device())(expand(condition, shape).view(), expand(a.detach(), shape).view(),
                                  expand(b.detach(), shape).view(), out.view());
    return record("where", out, {a, b},
                  [condition, left = a.shape(), right = b.shape(), wants_a = a.requires_grad(),
                   wants_b = b.requires_grad()](const Tensor& gradient) -> Gradients {
                      const Tensor zero = Tensor::scalar(0, gradient.dtype(), gradient.device());
                      return {wants_a ? sum_to(where(condition, gradient, zero), left) : Tensor(),
                              wants_b ? sum_to(where(condition, zero, gradient), right) : Tensor()};
                  });
}

}  // namespace tessera::ops
