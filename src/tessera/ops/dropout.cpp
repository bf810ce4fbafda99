#include "tessera/ops/dropout.h"

#include <algorithm>
#include <cmath>

#include "tessera/kernels/dropout.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

Tensor run(const kernels::DropoutRule& rule, const Tensor& x) {
    const Tensor dense = x.detach().contiguous();
    const Tensor out = x.empty_like();
    kernels::dropout.on(x.device())(rule, dense.view(), out.view());
    return out;
}

}  // namespace

Tensor dropout(const Tensor& x, double p, RandomKey key) {
    check(0 <= p && p < 1, "dropout: the probability must be in [0, 1), not ", p);
    check(is_float(x.dtype()), "dropout: needs a float dtype, not ", x.dtype());
    if (p == 0) return x;
    const double threshold = std::min(std::round(p * 0x1p32), 0x1p32 - 1);
    const kernels::DropoutRule rule{key, static_cast<std::uint32_t>(threshold), 1 / (1 - p)};
    return record("dropout", run(rule, x), {x},
                  [rule](const Tensor& gradient) -> Gradients { return {run(rule, gradient)}; });
}

}  // namespace tessera::ops
