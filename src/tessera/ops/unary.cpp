#include "tessera/ops/unary.h"

#include "tessera/kernels/unary.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

Tensor run(const Slot<kernels::Unary>& forward, const Tensor& x) {
    check(x.defined(), forward.name(), ": undefined tensor");
    check(is_float(x.dtype()), forward.name(), ": needs a float dtype, not ", x.dtype());
    const Tensor y = x.empty_like();
    forward.on(x.device())(x.view(), y.view());
    return y;
}

Gradients backward_of(const Slot<kernels::FromOperand>& backward, const Tensor& saved, const Tensor& gradient) {
    const Tensor out = gradient.empty_like();
    backward.on(gradient.device())(saved.view(), gradient.view(), out.view());
    return {out};
}

Tensor saving_operand(const Slot<kernels::Unary>& forward, const Slot<kernels::FromOperand>& backward,
                      const Tensor& x) {
    return record(forward.name(), run(forward, x), {x},
                  [&backward, x = x.detach()](const Tensor& gradient) { return backward_of(backward, x, gradient); });
}

Tensor saving_result(const Slot<kernels::Unary>& forward, const Slot<kernels::FromResult>& backward, const Tensor& x) {
    const Tensor y = run(forward, x);
    return record(forward.name(), y, {x},
                  [&backward, y](const Tensor& gradient) { return backward_of(backward, y, gradient); });
}

}  // namespace

Tensor neg(const Tensor& x) {
    return record("neg", run(kernels::neg, x), {x},
                  [](const Tensor& gradient) -> Gradients { return {run(kernels::neg, gradient)}; });
}

Tensor exp(const Tensor& x) { return saving_result(kernels::exp, kernels::exp_backward, x); }
Tensor log(const Tensor& x) { return saving_operand(kernels::log, kernels::log_backward, x); }
Tensor sqrt(const Tensor& x) { return saving_result(kernels::sqrt, kernels::sqrt_backward, x); }
Tensor rsqrt(const Tensor& x) { return saving_result(kernels::rsqrt, kernels::rsqrt_backward, x); }
Tensor tanh(const Tensor& x) { return saving_operand(kernels::tanh, kernels::tanh_backward, x); }
Tensor sigmoid(const Tensor& x) { return saving_operand(kernels::sigmoid, kernels::sigmoid_backward, x); }
Tensor relu(const Tensor& x) { return saving_result(kernels::relu, kernels::relu_backward, x); }
Tensor gelu(const Tensor& x) { return saving_operand(kernels::gelu, kernels::gelu_backward, x); }
Tensor gelu_tanh(const Tensor& x) { return saving_operand(kernels::gelu_tanh, kernels::gelu_tanh_backward, x); }
Tensor silu(const Tensor& x) { return saving_operand(kernels::silu, kernels::silu_backward, x); }

Tensor soft_cap(const Tensor& x, double cap) {
    check(cap > 0, "soft_cap: the cap must be positive, not ", cap);
    check(is_float(x.dtype()), "soft_cap: needs a float dtype, not ", x.dtype());
    const Tensor y = x.empty_like();
    kernels::soft_cap.on(x.device())(cap, x.view(), y.view());
    return record("soft_cap", y, {x}, [cap, x = x.detach()](const Tensor& gradient) -> Gradients {
        const Tensor out = gradient.empty_like();
        kernels::soft_cap_backward.on(gradient.device())(cap, x.view(), gradient.view(), out.view());
        return {out};
    });
}

}  // namespace tessera::ops
