// Products with very few rows: every weight is read once, so the speed is that of memory.
#pragma once

#include <cstdint>

#include "tessera/core/dtype.h"

namespace tessera::kernels::cpu {

// out[r · count + m] = Σ_k weight[r · leading + k] · x[m · length + k] for `rows` rows of a weight (f32, bf16 or f16)
// and `count` vectors x. Every sum runs over k in one order, whatever the other rows and vectors are.
struct RowDots {
    const void* weight;
    DType dtype;
    std::int64_t leading, rows, length;
    const float* x;
    std::int64_t count;
    float* out;
};
void row_dots(const RowDots& dots);

}  // namespace tessera::kernels::cpu
