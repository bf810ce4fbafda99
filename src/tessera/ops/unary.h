// Element-wise functions of one tensor of any float dtype.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

Tensor neg(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);  // 1 / √x
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor relu(const Tensor& x);
Tensor gelu(const Tensor& x);                  // x·Φ(x)  (Hendrycks and Gimpel 2016)
Tensor gelu_tanh(const Tensor& x);             // its tanh approximation, of the same paper
Tensor silu(const Tensor& x);                  // x·sigmoid(x)
Tensor soft_cap(const Tensor& x, double cap);  // cap·tanh(x / cap): nearly x near 0, never past ±cap

}  // namespace tessera::ops
