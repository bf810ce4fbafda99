// Matrix products.
#pragma once

#include "tensor/tensor.h"

namespace tessera::ops {

struct MatmulOptions {
    bool transpose_a = false;
    bool transpose_b = false;
};

// op(a) · op(b) over the last two dimensions; the leading ones broadcast. A transpose only swaps strides.
Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options = {});

// x · weightᵀ + bias. x (…, in), weight (out, in), bias (out) or undefined → (…, out). A weight may be quantised: it is
// decoded as it is multiplied, and only x and the bias have gradients.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace tessera::ops
