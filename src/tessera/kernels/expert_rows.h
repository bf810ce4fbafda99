// Moving rows to experts and back. Rows have stride 1. rows (R, W) are tokens in the order of their experts; positions
// i64 (N, k) says which of them came from token n for its k-th expert, and tokens i64 (R) the way back.
#pragma once

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

// out (R, W): out_r = x_tokens[r]
inline Slot<void(const View& x, const View& tokens, const View& out)> gather_rows{"gather_rows"};
// out (N, W): out_n = Σ_s weights_ns · rows_positions[n, s], in the order of s; without weights each is 1.
inline Slot<void(const View& rows, const View& weights, const View& positions, const View& out)> combine_rows{
    "combine_rows"};
// From the gradient (N, W) of `out`: row_gradient_positions[n, s] = weights_ns · gradient_n, and
// weight_gradient (N, k) = gradient_n · rows_positions[n, s].
inline Slot<void(const View& gradient, const View& rows, const View& weights, const View& positions,
                 const View& row_gradient, const View& weight_gradient)>
    combine_rows_backward{"combine_rows_backward"};

}  // namespace tessera::kernels
