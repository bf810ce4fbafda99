// A sliding window in its three textbook ways, of elementary ops: query i sees keys i − window + 1 … i. All take
// query, key and value of (H, T, D), any number of heads first, and scale by 1/√D.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::testing {

// Every score of a query and a key in a matrix, those outside of the window at −∞: time and memory grow as T².
Tensor window_by_mask(const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t window);

// One query after another, each with the keys it sees: T · window, but in T small steps.
Tensor window_by_loop(const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t window);

// Chunks of `window` queries, each against its own keys and those of the chunk before (Beltagy et al. 2020, section
// 3.1): T · window in a few large products, half of them masked.
Tensor window_by_chunks(const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t window);

}  // namespace tessera::testing
