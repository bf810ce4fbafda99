// Putting tensors together along a dimension, and cutting one apart again.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace tessera::ops {

Tensor concat(const std::vector<Tensor>& parts, int dim);
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int dim);  // views of x

}  // namespace tessera::ops
