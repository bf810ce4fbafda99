// Nadaraya–Watson weights (1964): a kernel of the distance between query and key, normalised over the keys.
//
//     queries (B, Q, D)   keys (B, K, D)   weights (B, Q, K)
//
//     gaussian      exp(−‖q − k‖² / 2w²)         normalised as a softmax, so a far query takes its nearest key
//     boxcar        1 where ‖q − k‖ ≤ w, else 0
//     epanechnikov  max(0, 1 − ‖q − k‖ / w)
//
// A query with no key in reach has weights of zero. Views are contiguous and share one dtype, f32 or f64.
#pragma once

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

enum class PoolingKernel : std::uint8_t { Gaussian, Boxcar, Epanechnikov };

struct NadarayaWatson {
    PoolingKernel kernel;
    double width;
    View queries, keys, weights;
};

inline Slot<void(const NadarayaWatson& pooling)> nadaraya_watson{"nadaraya_watson"};
// The boxcar is flat wherever it has a slope: its gradients are zero.
inline Slot<void(const NadarayaWatson& pooling, const View& weights_gradient, const View& queries_gradient,
                 const View& keys_gradient)>
    nadaraya_watson_backward{"nadaraya_watson_backward"};

}  // namespace tessera::kernels
