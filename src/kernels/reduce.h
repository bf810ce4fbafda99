// Reductions along chosen dimensions. `in` and `out` have equal rank; a reduced dimension has size 1 in `out`.
// The order of additions depends on the shape alone, so the bits do not depend on the thread count.
#pragma once

#include "kernels/slot.h"

namespace tessera::kernels {

inline Slot<void(const View& in, const View& out)> sum{"sum"};

}  // namespace tessera::kernels
