// Gated activations (Shazeer 2020): out = activation(gate) · up, element by element. All views have one shape, any
// strides.
#pragma once

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

using Gated = void(const View& gate, const View& up, const View& out);
using GatedBackward = void(const View& gate, const View& up, const View& dout, const View& dgate, const View& dup);

inline Slot<Gated> swiglu{"swiglu"};          // silu: x · sigmoid(x)
inline Slot<Gated> geglu{"geglu"};            // gelu: x · Φ(x)
inline Slot<Gated> geglu_tanh{"geglu_tanh"};  // gelu with tanh in place of erf

inline Slot<GatedBackward> swiglu_backward{"swiglu_backward"};
inline Slot<GatedBackward> geglu_backward{"geglu_backward"};
inline Slot<GatedBackward> geglu_tanh_backward{"geglu_tanh_backward"};

}  // namespace tessera::kernels
