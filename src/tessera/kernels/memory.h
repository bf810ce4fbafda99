// Moving values about. These three are what the tensor room itself needs; they take any strides. A quantised view is an
// exception: its rows are whole blocks, and only copy takes it, to decode or to encode.
#pragma once

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

inline Slot<void(const View& from, const View& to)> copy{"copy"};  // same shape; converts between any dtypes
inline Slot<void(double value, const View& to)> fill{"fill"};
inline Slot<void(const View& from, const View& into)> accumulate{
    "accumulate"};  // into += from; float dtypes may differ

}  // namespace tessera::kernels
