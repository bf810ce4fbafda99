// Kernels of the contrastive losses, besides matrix products. Rows have stride 1 in every view.
#pragma once

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

// y = exp(log_factor ()) · x, all of one dtype.
inline Slot<void(const View& x, const View& log_factor, const View& y)> scale_by_exp{"scale_by_exp"};

// logits (N, N), f32 or f64, where entry (i, j) is a true pair iff i = j. With z = 1 for a true pair and −1 otherwise:
// losses (N)_i = Σ_j −log σ(z l_ij); gradient (N, N) or undefined: its derivative.
inline Slot<void(const View& logits, const View& losses, const View& gradient)> pair_sigmoid{"pair_sigmoid"};

// Rows of x (N, W) divided by max(‖row‖, eps) → y, inverse_norms (N) (f64 for f64 rows, f32 otherwise).
inline Slot<void(const View& x, double eps, const View& y, const View& inverse_norms)> l2_normalise{"l2_normalise"};
inline Slot<void(const View& gradient, const View& y, const View& inverse_norms, double eps, const View& x_gradient)>
    l2_normalise_backward{"l2_normalise_backward"};

}  // namespace tessera::kernels
