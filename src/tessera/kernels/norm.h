// Normalising the last dimension: layer norm (Ba et al. 2016) and RMS norm (Zhang & Sennrich 2019), each with an
// optional residual added before. Weight and bias are vectors of the row's length.
#pragma once

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

// s = x + residual (x itself without one), rounded to the dtype;
// layer norm: out = (s − mean) · rstd · weight + bias       with rstd = 1 / √(variance + eps)
// RMS norm:   out = s · rstd · (weight + weight_offset)     with rstd = 1 / √(mean of s² + eps)
// Undefined where absent: residual and sum together, weight (a factor of 1), bias, and in RMS norm always the mean.
struct NormForward {
    View x, residual, weight, bias;
    double weight_offset = 0, eps = 0;
    View out, sum;
    View mean, rstd;  // one per row: f64 for f64, else f32
};
inline Slot<void(const NormForward&)> layer_norm{"layer_norm"};
inline Slot<void(const NormForward&)> rms_norm{"rms_norm"};

// Gradients of x (the sum, where a residual was added), weight and bias. `sum_gradient` is what reaches the sum from
// elsewhere; it is added to dx. Undefined where absent or unwanted: weight, sum_gradient, dx, dweight, dbias.
// The order in which rows are added up depends on the shape alone.
struct NormBackward {
    View x, mean, rstd, weight;
    double weight_offset = 0;
    View dout, sum_gradient;
    View dx, dweight, dbias;
};
inline Slot<void(const NormBackward&)> layer_norm_backward{"layer_norm_backward"};
inline Slot<void(const NormBackward&)> rms_norm_backward{"rms_norm_backward"};

}  // namespace tessera::kernels
