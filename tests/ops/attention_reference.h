// The plain definition of attention: every score in a matrix, in double.
#pragma once

#include <functional>
#include <vector>

#include "tessera/ops/attention.h"
#include "tessera/tensor/tensor.h"

namespace tessera::testing {

// Whether query i of row b may see key j, asked one pair at a time.
using Allowed = std::function<bool(std::int64_t b, std::int64_t i, std::int64_t j)>;

struct PlainAttention {
    Allowed allowed = [](std::int64_t, std::int64_t, std::int64_t) { return true; };
    double scale = 0;  // 0: 1/√D
    double soft_cap = 0;
    double dropout = 0;
    RandomKey dropout_key = {};
    Tensor bias = {};                        // broadcasts to (B, H, Tq, Tk)
    std::vector<double> slopes = {};         // (H)
    std::vector<std::int64_t> offsets = {};  // (B); Tk − Tq when empty
};

Tensor plain_attention(const Tensor& query, const Tensor& key, const Tensor& value, const PlainAttention& options);

}  // namespace tessera::testing
