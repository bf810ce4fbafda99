// Views: another shape and other strides over the same storage. Nothing is copied, except by reshape where the strides
// leave no other way. Writing to a view writes to the tensor.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

Tensor permute(const Tensor& x, const Shape& order);  // permute(x, {0, 2, 1}): dimension i is x's order[i]
Tensor transpose(const Tensor& x, int a, int b);      // swaps two dimensions
Tensor slice(const Tensor& x, int dim, std::int64_t begin, std::int64_t end, std::int64_t step = 1);
Tensor select(const Tensor& x, int dim, std::int64_t index);  // slice of one, its dimension dropped
Tensor reshape(const Tensor& x, Shape shape);                 // one dimension may be -1
Tensor expand(const Tensor& x, const Shape& shape);           // stretches dimensions of 1, adds leading ones
Tensor contiguous(const Tensor& x);

}  // namespace tessera::ops
