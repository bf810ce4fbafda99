// Products with a layer's weight, of one map or of several side by side.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

// x · weightᵀ + bias. x (…, in), weight (out, in), bias (out) or undefined → (…, out). A weight may be quantised: it is
// decoded as it is multiplied, and only x and the bias have gradients. The result has x's dtype, or the one given.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, std::optional<DType> result = {});

// The same of several maps, whose matmul_input_dtype is one: x is rounded and kept once for all, and the gradients that
// it gets from them are added up as they are multiplied.
struct LinearMap {
    Tensor weight, bias = {};
};
std::vector<Tensor> linear(const Tensor& x, std::span<const LinearMap> maps, std::optional<DType> result = {});

// The dtype in which x goes into products with the weight and waits for backward: bf16 for an f32 x under a bf16 weight
// that learns (f16 would lose small gradients), x's own otherwise. It is the same whether or not the tape records, so
// that recomputed activations are the first ones. A result that goes into further products loses nothing by being in it
// from the start.
DType matmul_input_dtype(const Tensor& x, const Tensor& weight);

}  // namespace tessera::ops
