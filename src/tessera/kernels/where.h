// out = condition ? a : b, element by element. All views have one shape; a broadcast operand has strides of 0.
#pragma once

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

// `condition` is bool; a, b and out share any plain dtype.
inline Slot<void(const View& condition, const View& a, const View& b, const View& out)> where{"where"};

}  // namespace tessera::kernels
