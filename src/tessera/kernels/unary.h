// Element by element over one operand, any float dtype. All views of a call share shape and dtype.
// A backward kernel gets what its op saves, the operand x or the result y, whichever the derivative is sharper and
// cheaper from.
#pragma once

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

using Unary = void(const View& x, const View& y);
using FromOperand = void(const View& x, const View& y_gradient, const View& x_gradient);
using FromResult = void(const View& y, const View& y_gradient, const View& x_gradient);

inline Slot<Unary> neg{"neg"};
inline Slot<Unary> exp{"exp"};
inline Slot<Unary> log{"log"};
inline Slot<Unary> sqrt{"sqrt"};
inline Slot<Unary> rsqrt{"rsqrt"};
inline Slot<Unary> tanh{"tanh"};
inline Slot<Unary> sigmoid{"sigmoid"};
inline Slot<Unary> relu{"relu"};
inline Slot<Unary> gelu{"gelu"};            // x·Φ(x), Φ the normal distribution
inline Slot<Unary> gelu_tanh{"gelu_tanh"};  // ½x (1 + tanh(√(2/π) (x + 0.044715 x³)))
inline Slot<Unary> silu{"silu"};            // x·sigmoid(x)
inline Slot<void(double cap, const View& x, const View& y)> soft_cap{"soft_cap"};  // cap·tanh(x / cap)

inline Slot<FromResult> exp_backward{"exp_backward"};
inline Slot<FromOperand> log_backward{"log_backward"};
inline Slot<FromResult> sqrt_backward{"sqrt_backward"};
inline Slot<FromResult> rsqrt_backward{"rsqrt_backward"};
inline Slot<FromOperand> tanh_backward{"tanh_backward"};
inline Slot<FromOperand> sigmoid_backward{"sigmoid_backward"};
inline Slot<FromResult> relu_backward{"relu_backward"};
inline Slot<FromOperand> gelu_backward{"gelu_backward"};
inline Slot<FromOperand> gelu_tanh_backward{"gelu_tanh_backward"};
inline Slot<FromOperand> silu_backward{"silu_backward"};
inline Slot<void(double cap, const View& x, const View& y_gradient, const View& x_gradient)> soft_cap_backward{
    "soft_cap_backward"};

}  // namespace tessera::kernels
