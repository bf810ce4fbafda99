// Reductions. `keep` leaves a reduced dimension in place with size 1.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

Tensor sum(const Tensor& x, std::vector<int> dims = {}, bool keep = false);   // no dims: over all of them
Tensor mean(const Tensor& x, std::vector<int> dims = {}, bool keep = false);  // no dims: over all of them

// The gradient goes to the first of several equal maxima. NaN is larger than any number.
Tensor max(const Tensor& x, int dim, bool keep = false);
Tensor argmax(const Tensor& x, int dim = -1, bool keep = false);  // i64, the first of several

struct TopK {
    Tensor values, indices;  // along `dim`, in falling order, equal values by rising index
};
TopK top_k(const Tensor& x, std::int64_t k, int dim = -1);

}  // namespace tessera::ops
