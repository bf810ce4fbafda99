// The stream between blocks is at least f32, whatever the weights are stored in.
#pragma once

#include "ops/cast.h"

namespace tessera::models {

inline Tensor as_stream(const Tensor& x) {
    const bool is_narrow = x.dtype() == DType::BF16 || x.dtype() == DType::F16;
    return is_narrow ? ops::cast(x, DType::F32) : x;
}

}  // namespace tessera::models
