// The dtype in which sums of a dtype are held.
#pragma once

#include "tessera/core/dtype.h"

namespace tessera::ops {

inline DType compute_dtype(DType dtype) { return dtype == DType::F64 ? DType::F64 : DType::F32; }

}  // namespace tessera::ops
