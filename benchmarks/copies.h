// Ways to move large blocks of memory, on every thread: what memory-bound ops are held against.
#pragma once

#include <vector>

#include "benchmarks/support.h"
#include "tessera/tensor/tensor.h"

namespace tessera::benchmarks {

// memcpy, and a copy that streams past the caches: the C library decides from the size of the caches whether its memcpy
// streams, and on virtual machines is often told a wrong one. f32 tensors of one size, contiguous.
std::vector<Side> copy_sides(const Tensor& from, const Tensor& to);

void read_in_parallel(const Tensor& from);

}  // namespace tessera::benchmarks
