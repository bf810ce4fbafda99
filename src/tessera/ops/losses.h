// Losses over pairs of tensors. Each is a scalar: f64 for f64 inputs, f32 otherwise.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

Tensor mse(const Tensor& a, const Tensor& b);  // the mean of (a − b)²

// The contrastive loss of SigLIP (Zhai et al. 2023) over N pairs: row i of image (N, W) belongs to row i of text (N,
// W). Features are taken as given; the paper normalises them first. Similarities are scaled by exp(log_scale ()) and
// shifted by `bias`; each of the N² pairs is its own yes-or-no question, and the sum over all pairs is divided by N.
Tensor sigmoid_contrastive(const Tensor& image, const Tensor& text, const Tensor& log_scale, const Tensor& bias);

// Rows (the last dimension) divided by max(their length, eps).
Tensor l2_normalise(const Tensor& x, double eps = 1e-12);

}  // namespace tessera::ops
