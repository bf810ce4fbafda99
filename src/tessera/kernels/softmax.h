// Softmax over the last dimension. A row's maximum is subtracted first, so nothing overflows.
#pragma once

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

// out = e^x / Σ e^x over the first `lengths` elements of each row, 0 after them. `lengths` (i64, the shape of x without
// its last dimension; clamped to the row) may be undefined: whole rows. A row of −∞, or of length 0, gives
// zeros.
inline Slot<void(const View& x, const View& lengths, const View& out)> softmax{"softmax"};
// From the result y: dx = y · (dy − Σ y · dy), again over the first `lengths` elements.
inline Slot<void(const View& y, const View& lengths, const View& dy, const View& dx)> softmax_backward{
    "softmax_backward"};

// out = x − log Σ e^x; a row of −∞ stays one.
inline Slot<void(const View& x, const View& out)> log_softmax{"log_softmax"};
// From the result y: dx = dy − e^y · Σ dy.
inline Slot<void(const View& y, const View& dy, const View& dx)> log_softmax_backward{"log_softmax_backward"};

}  // namespace tessera::kernels
