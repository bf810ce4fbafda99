// Element-wise arithmetic with broadcasting (trailing dimensions aligned, 1 stretches). Both operands share a dtype.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);

Tensor scale(const Tensor& x, double factor);  // x · factor
Tensor shift(const Tensor& x, double offset);  // x + offset

// Sums a gradient back to the shape that was broadcast.
Tensor sum_to(const Tensor& gradient, const Shape& shape);

}  // namespace tessera::ops
