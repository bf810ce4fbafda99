// Random tensors, for initialisation. Every value is a pure function of the key and its row-major index: the same bits
// at any thread count and on any device. Computed on the host, then moved.
#pragma once

#include "tessera/core/random.h"
#include "tessera/tensor/tensor.h"

namespace tessera::ops {

// In [low, high), before rounding to the dtype.
Tensor uniform(const Shape& shape, double low, double high, RandomKey key, DType dtype = DType::F32,
               Device device = cpu);
Tensor normal(const Shape& shape, double mean, double stddev, RandomKey key, DType dtype = DType::F32,
              Device device = cpu);

}  // namespace tessera::ops
