// Gated activations of feed-forward blocks (Shazeer 2020): activation(gate) · up, both of one shape.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

Tensor swiglu(const Tensor& gate, const Tensor& up);                                 // silu(gate) · up
Tensor geglu(const Tensor& gate, const Tensor& up, bool tanh_approximation = true);  // gelu(gate) · up

}  // namespace tessera::ops
