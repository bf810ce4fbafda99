// Layer norm (Ba et al. 2016) and RMS norm (Zhang & Sennrich 2019) over the last dimension. Weight and bias have one
// value per element of a row, in x's dtype; an undefined one is left out.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

// (x − mean) / √(variance + eps) · weight + bias
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps = 1e-5);

struct RmsNormOptions {
    double eps = 1e-6;
    double weight_offset = 0;  // 1 where a checkpoint stores weight − 1
};

// x / √(mean of x² + eps) · (weight + weight_offset)
Tensor rms_norm(const Tensor& x, const Tensor& weight, const RmsNormOptions& options = {});

// The norm of x + residual, and the sum itself, which goes on along the residual path. One pass over memory.
struct AddNorm {
    Tensor normed, sum;
};
AddNorm add_layer_norm(const Tensor& x, const Tensor& residual, const Tensor& weight, const Tensor& bias,
                       double eps = 1e-5);
AddNorm add_rms_norm(const Tensor& x, const Tensor& residual, const Tensor& weight, const RmsNormOptions& options = {});

}  // namespace tessera::ops
