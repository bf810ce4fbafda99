// Picking values by index, and adding values at indices. Indices are i64 or i32.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

// torch's gather: out[i][j][k] = x[i][index[i][j][k]][k] for dim 1. `index` may be smaller than x beyond `dim`.
Tensor gather(const Tensor& x, int dim, const Tensor& index);

// torch's scatter_add: a copy of x with out[i][index[i][j][k]][k] += source[i][j][k] for dim 1. `index` may be smaller
// than source, and than x beyond `dim`. Added in order: the same bits at any thread count.
Tensor scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source);

// The rows of a table (V, W) named by ids of any shape: ids.shape + (W). A quantised table gives f32. Where an id is
// `padding_id` (−1: none) no gradient comes back.
Tensor embedding(const Tensor& table, const Tensor& ids, std::int64_t padding_id = -1);

}  // namespace tessera::ops
