// Products of a few rows with a quantised weight: each block is decoded next to where it is multiplied, so that only
// the quantised bytes come from memory.
#pragma once

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

constexpr std::int64_t most_quantised_vectors = 32;

// out (M, N) = x (M, K) · weight (N, K)ᵀ + bias (N). M is at most most_quantised_vectors; x is contiguous; x, out and
// bias (which may be undefined) are f32; the weight is of a quantised dtype, its rows whole blocks.
inline Slot<void(const View& x, const View& weight, const View& bias, const View& out)> quantised_gemv{
    "quantised_gemv"};

}  // namespace tessera::kernels
