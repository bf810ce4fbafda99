// Copies from, to and between quantised dtypes, and how their rows lie.
#pragma once

#include "tessera/core/view.h"

namespace tessera::kernels::cuda {

// Throws unless the rows of a quantised view are whole blocks in order.
void check_whole_blocks(const View& view, const char* who);

// One side at least is quantised; the shapes are equal, the other side is of a float dtype.
void copy_quantised_on_cuda(const View& from, const View& to);

}  // namespace tessera::kernels::cuda
