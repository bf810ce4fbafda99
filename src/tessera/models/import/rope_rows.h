// Rotary embeddings turn pairs of a head's values: neighbours (2i, 2i + 1) in some files, (i, i + half) on the Hub.
// Which rows of a query or key projection belong together differs likewise.
#pragma once

#include <string>

#include "tessera/tensor/tensor.h"

namespace tessera::models {

// A weight (heads · width, in) or bias (heads · width) whose pairs are neighbours → a copy whose pairs are half a head
// apart. Rows move whole, so quantised weights may be given. `who` begins the error.
Tensor rows_in_halves(const Tensor& weight, std::int64_t heads, const std::string& who);

}  // namespace tessera::models
