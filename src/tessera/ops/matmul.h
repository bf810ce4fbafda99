// Matrix products.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

struct MatmulOptions {
    bool transpose_a = false;
    bool transpose_b = false;
};

// op(a) · op(b) over the last two dimensions; the leading ones broadcast. A transpose only swaps strides.
Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options = {});

}  // namespace tessera::ops
