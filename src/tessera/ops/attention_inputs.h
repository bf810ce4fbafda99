// Preparation of the attention ops' tensors for the kernels.
#pragma once

#include "tessera/ops/compute_dtype.h"
#include "tessera/tensor/tensor.h"

namespace tessera::ops {

// A (B, T, H, D) off the tape, with the last dimension dense: the tensor itself where it is, else a copy.
inline Tensor with_dense_rows(const Tensor& x) {
    const Tensor plain = x.detach();
    return plain.size(3) <= 1 || plain.stride(3) == 1 ? plain : plain.clone();
}

}  // namespace tessera::ops
