// The fixed position embedding of "Attention is all you need" (Vaswani et al. 2017).
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

// (count, width) in f32 on the CPU: p(i, 2j) = sin(i / 10000^(2j / width)), p(i, 2j + 1) = cos of the same.
Tensor sinusoidal_positions(std::int64_t count, std::int64_t width);

}  // namespace tessera::ops
