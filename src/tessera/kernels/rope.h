// Rotary position embedding (Su et al. 2021): pairs of a head's elements are turned by an angle that grows with the
// position.
#pragma once

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

struct Rope {
    View x;                    // (B, T, H, D), any strides
    View positions;            // i64 (B, T), any strides
    View inverse_frequencies;  // f32 (R / 2), contiguous, R ≤ D
    View out;                  // (B, T, H, D); elements from R on are copied
    bool adjacent = false;     // pair j is (2j, 2j + 1); otherwise (j, j + R/2)
    bool inverse = false;      // turn back by the angle: the gradient
    double magnitude = 1;      // of the rotated pairs
};

// (a, b) → magnitude · (a cos θ − b sin θ, b cos θ + a sin θ). On every device and in every dtype θ is the product of
// position and inverse frequency rounded to f32: checkpoints were trained with that, and at large positions the
// rounding shows.
inline Slot<void(const Rope&)> rope{"rope"};

}  // namespace tessera::kernels
