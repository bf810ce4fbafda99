#include "tessera/ops/cast.h"

#include "tessera/tensor/tape.h"

namespace tessera::ops {

Tensor cast(const Tensor& x, DType dtype) {
    if (x.dtype() == dtype) return x;
    check(!is_quantised(x.dtype()) && !is_quantised(dtype), "cast: from ", x.dtype(), " to ", dtype,
          " is not a change of plain dtypes");
    const Tensor out = x.detach().to(dtype);
    if (!is_float(dtype)) return record_without_gradient("cast", out, {x});
    return record("cast", out, {x},
                  [from = x.dtype()](const Tensor& gradient) -> Gradients { return {gradient.to(from)}; });
}

}  // namespace tessera::ops
