// Another dtype, recorded: gradients come back in the dtype they left.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

Tensor cast(const Tensor& x, DType dtype);  // between plain dtypes; x itself where nothing changes

}  // namespace tessera::ops
