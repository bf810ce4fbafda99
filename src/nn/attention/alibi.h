// Attention with linear biases (Press et al. 2021): instead of positions in the embeddings, a score falls with the
// distance of its key, faster for some heads than for others.
#pragma once

#include "tensor/tensor.h"

namespace tessera::nn {

struct AlibiSettings {
    double factor = 1;  // of all biases
    // Each slope and each slope · position rounded to bf16, as a model's reference may do: positions past 256 then
    // share biases.
    bool rounded = false;
};

// The slopes of ALiBi for any number of heads: a geometric sequence from the power of two below, then every other one
// of the sequence twice as fine.
Tensor alibi_slopes(std::int64_t heads);

// factor · round(slope · position) for the keys from `first` on, (B or 1, H, 1, count): adding the same number to all
// scores of a query changes nothing, so no distance is needed. `starts` (B), where given, is each row's position 0.
Tensor rounded_alibi_bias(const Tensor& slopes, double factor, std::int64_t first, std::int64_t count,
                          const Tensor& starts);

}  // namespace tessera::nn
