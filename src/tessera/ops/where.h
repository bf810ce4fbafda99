// Chooses between two tensors element by element; all three broadcast.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);  // condition is bool; a and b share a dtype

}  // namespace tessera::ops
