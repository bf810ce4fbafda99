// Checks on whole modules: random f64 parameters, and finite differences through every one of them.
#pragma once

#include <functional>

#include "tessera/nn/module.h"

namespace tessera::testing {

// Gives every parameter random values of `dtype` (norm weights around 1, the rest around 0) and asks for gradients.
void randomise(nn::Module& module, std::uint64_t seed = 1, DType dtype = DType::F64);

// For each parameter: a gradient arrived, and it matches central differences of `loss` (f64, one element) along a
// random direction. Reports through gtest.
void expect_gradients(nn::Module& module, const std::function<Tensor()>& loss, double tolerance = 1e-6);

// A scalar that depends on every element of x: Σ x · fixed random weights, on the tape.
Tensor weighted_total(const Tensor& x);

}  // namespace tessera::testing
