// Attention pooling by a fixed kernel of distance (Nadaraya 1964, Watson 1964): each query gets the mean of the values,
// weighted by how near their keys are.
#pragma once

#include "tessera/kernels/nadaraya_watson.h"
#include "tessera/tensor/tensor.h"

namespace tessera::ops {

using kernels::PoolingKernel;  // gaussian, boxcar, epanechnikov

// queries (…, Q, D), keys (…, K, D), values (…, K, V) with equal leading dimensions → (…, Q, V). A query with no key in
// reach gives zeros. The boxcar passes no gradient to queries and keys: it is zero wherever it exists.
Tensor nadaraya_watson(const Tensor& queries, const Tensor& keys, const Tensor& values, PoolingKernel kernel,
                       double width);

}  // namespace tessera::ops
