// Copying rows that an index names.
#pragma once

#include "tessera/core/view.h"

namespace tessera::kernels::cuda {

// out[r] = from[index[r]]: from (V, W) and out (R, W) of one plain dtype, index (R) i64 or i32. An index out of range
// gives a row of zeros.
void copy_rows(const View& from, const View& index, const View& out);

}  // namespace tessera::kernels::cuda
