// Inverted dropout (Srivastava et al. 2014): elements are zeroed with probability p, the others scaled by 1 / (1 − p).
#pragma once

#include "tessera/core/random.h"
#include "tessera/tensor/tensor.h"

namespace tessera::ops {

// 0 ≤ p < 1. The key alone decides which elements go: the same on any device, at any thread count, and in backward.
Tensor dropout(const Tensor& x, double p, RandomKey key);

}  // namespace tessera::ops
