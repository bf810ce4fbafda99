// What the plain definitions of routing and of experts share.
#pragma once

#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera::testing {

using Rows = std::vector<std::vector<double>>;

inline Rows rows_of(const Tensor& x) {
    const auto values = x.to_vector<double>();
    const auto width = static_cast<std::ptrdiff_t>(x.size(-1));
    Rows rows;
    for (auto at = values.begin(); at != values.end(); at += width) rows.emplace_back(at, at + width);
    return rows;
}

// Some experts of each token; the last of them has none.
inline Tensor some_indices(std::int64_t tokens, std::int64_t k, std::int64_t experts) {
    std::vector<std::int64_t> values;
    for (std::int64_t n = 0; n < tokens; ++n)
        for (std::int64_t s = 0; s < k; ++s) values.push_back((n * n + 3 * s) % (experts - 1));
    return Tensor::from(values, {tokens, k});
}

}  // namespace tessera::testing
