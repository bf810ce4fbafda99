// Element by element over two operands. All views have the output's shape; a broadcast operand has strides of 0.
#pragma once

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

using Binary = void(const View& a, const View& b, const View& out);  // one dtype: any float, i64 or i32

inline Slot<Binary> add{"add"};
inline Slot<Binary> sub{"sub"};
inline Slot<Binary> mul{"mul"};
inline Slot<Binary> div{"div"};

}  // namespace tessera::kernels
