#include "tessera/ops/gated.h"

#include "tessera/kernels/gated.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

Tensor gated(const Slot<kernels::Gated>& slot, const Slot<kernels::GatedBackward>& backward, const Tensor& gate,
             const Tensor& up) {
    check(gate.shape() == up.shape(), slot.name(), ": gate ", gate.shape(), " and up ", up.shape(), " differ");
    check(gate.dtype() == up.dtype(), slot.name(), ": gate is ", gate.dtype(), ", up is ", up.dtype());
    check(gate.device() == up.device(), slot.name(), ": gate is on ", gate.device(), ", up on ", up.device());
    check(is_float(gate.dtype()), slot.name(), ": needs a float dtype, not ", gate.dtype());
    const Tensor out = gate.empty_like();
    slot.on(gate.device())(gate.view(), up.view(), out.view());
    return record(slot.name(), out, {gate, up},
                  [gate = gate.detach(), up = up.detach(), &backward](const Tensor& dout) -> Gradients {
                      const Tensor dgate = gate.empty_like(), dup = up.empty_like();
                      backward.on(gate.device())(gate.view(), up.view(), dout.view(), dgate.view(), dup.view());
                      return {dgate, dup};
                  });
}

}  // namespace

Tensor swiglu(const Tensor& gate, const Tensor& up) {
    return gated(kernels::swiglu, kernels::swiglu_backward, gate, up);
}

Tensor geglu(const Tensor& gate, const Tensor& up, bool tanh_approximation) {
    if (tanh_approximation) return gated(kernels::geglu_tanh, kernels::geglu_tanh_backward, gate, up);
    return gated(kernels::geglu, kernels::geglu_backward, gate, up);
}

}  // namespace tessera::ops
