// Putting tensors together along a dimension, and cutting one apart again.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

Tensor concat(std::span<const Tensor> parts, int dim);
inline Tensor concat(std::initializer_list<Tensor> parts, int dim) {
    return concat(std::span(parts.begin(), parts.size()), dim);
}
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int dim);  // views of x

}  // namespace tessera::ops
