// Products with a weight that may be stored more narrowly than x, not recorded: what linear and grouped_linear share. A
// 16-bit weight goes with an x of f32, and its products stay f32; under a bf16 weight that learns, x and its gradient
// are rounded to bf16, so that all three products take 16-bit factors (mixed precision). A quantised weight is decoded
// a few rows at a time, each once per product, and multiplied in f32 (f64 for an x of f64).
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

// Throws where x and the weight (…, out, in) do not go together, naming `op`.
void check_weight(const char* op, const Tensor& x, const Tensor& weight);

// out (M, N) = x (M, K) · weight (N, K)ᵀ + bias (N)
void weight_product(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& out);
// out (M, K) = gradient (M, N) · weight (N, K), added to what is there where `adds`
void linear_input_gradient(const Tensor& gradient, const Tensor& weight, const Tensor& out, bool adds = false);

}  // namespace tessera::ops
