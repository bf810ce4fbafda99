// Softmax over the last dimension: y = e^x / Σ e^x. A row of −∞ alone (everything masked) gives zeros, not NaN.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

Tensor softmax(const Tensor& x);
Tensor log_softmax(const Tensor& x);  // x − log Σ e^x

// Softmax over the first `lengths` elements of each row, 0 after them. `lengths` (i64) holds one length per row, or one
// for all rows below its place: its shape is a leading part of x's, as (B) for x (B, Q, K). Lengths are clamped to the
// row; length 0 gives zeros.
Tensor masked_softmax(const Tensor& x, const Tensor& lengths);

}  // namespace tessera::ops
