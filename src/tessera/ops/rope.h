// Rotary position embedding (Su et al. 2021).
#pragma once

#include "tessera/ops/rope_frequencies.h"
#include "tessera/tensor/tensor.h"

namespace tessera::ops {

enum class RopePairing : std::uint8_t {
    HalfSplit,  // element j with j + R/2: GPT-NeoX and every Llama checkpoint in Hugging Face's layout
    Adjacent    // element 2j with 2j + 1: the paper, GPT-J
};

struct RopeOptions {
    RopePairing pairing = RopePairing::HalfSplit;
    double magnitude = 1.0;  // from RopeFrequencies
};

// x (B, T, H, D), positions i64 (T) or (B, T), inverse_frequencies f32 (R/2). The first R elements of every head are
// turned, pair j by the angle position · inverse_frequencies[j]; the rest of D passes through.
Tensor rope(const Tensor& x, const Tensor& positions, const Tensor& inverse_frequencies,
            const RopeOptions& options = {});

}  // namespace tessera::ops
