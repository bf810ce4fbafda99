// Recurrent models read a row from its first token on, so padding on the left must go behind the tokens first.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::models {

struct Aligned {
    Tensor ids;           // (B, T) every row's tokens first
    Tensor lengths = {};  // (B) how many they are; undefined where no row is padded
    Tensor starts = {};   // (B) where they began; undefined where all began at 0
};

// attention_mask (B, T) may be undefined.
Aligned align(const Tensor& ids, const Tensor& attention_mask);
// States (B, T, width) of aligned tokens, back in the places the tokens came from.
Tensor moved_back(const Tensor& states, const Aligned& aligned);

}  // namespace tessera::models
