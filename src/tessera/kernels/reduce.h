// Reductions along chosen dimensions. `in` and `out` have equal rank; a reduced dimension has size 1 in `out`.
// The order of additions depends on the shape alone, so the bits do not depend on the thread count.
#pragma once

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

inline Slot<void(const View& in, const View& out)> sum{"sum"};
inline Slot<void(const View& in, const View& out)> mean{
    "mean"};  // divided before rounding, so that f16 cannot overflow

// The largest value along `dim` and where it first stands. NaN is larger than any number. `values` has the dtype of
// `in`, a float; `indices` is i64. The dimension is not empty.
inline Slot<void(const View& in, int dim, const View& values, const View& indices)> max{"max"};

// The k largest of each row (the last dimension), in falling order, equal ones by rising index; NaN before any number.
// `values` and `indices` (i64) have k as their last dimension.
inline Slot<void(const View& in, const View& values, const View& indices)> top_k{"top_k"};

}  // namespace tessera::kernels
