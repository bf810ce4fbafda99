// The stream between blocks is at least f32, whatever the weights are stored in.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::models {

Tensor to_residual_dtype(const Tensor& embedded);

}  // namespace tessera::models
