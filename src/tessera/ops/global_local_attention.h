// Longformer's block-sparse attention (Beltagy et al. 2020): every token sees a window around it and the few global
// tokens; a global token sees everything, through projections of its own. Cost is linear in the sequence.
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

struct GlobalLocalOptions {
    std::int64_t window = 0;           // even: window / 2 tokens on each side
    Tensor global_tokens = {};         // (B, T) bool; undefined: none
    Tensor lengths = {};               // (B) i64: tokens from it on are padding, see nothing and are not seen
    std::optional<double> scale = {};  // 1/√D unless given
};

// query, key, value (B, T, H, D): a token that is not global takes one softmax over its window and all global tokens.
// global_query, global_key, global_value (B, T, H, D): a global token takes one over all tokens. → (B, T, H, D).
Tensor global_local_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& global_query,
                              const Tensor& global_key, const Tensor& global_value, const GlobalLocalOptions& options);

}  // namespace tessera::ops
