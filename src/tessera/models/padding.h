// Padding of a batch, from an attention mask of ones and zeros: where its tokens begin and end, and which
// position each has.
#pragma once

#include "tessera/nn/context.h"

namespace tessera::models {

struct Padding {
    Tensor starts;     // (B) where the tokens begin; undefined where all begin at 0
    Tensor lengths;    // (B) where they end; undefined where all end with the row
    Tensor positions;  // (B, T) counted from each row's first token; undefined where no row is padded on the left

    void apply(ops::AttentionMask& mask) const {
        mask.starts = starts;
        mask.lengths = lengths;
    }
};

// attention_mask i64 (B, T) or undefined. The ones of a row must stand together: holes are refused.
Padding padding_of(const Tensor& attention_mask);

}  // namespace tessera::models
