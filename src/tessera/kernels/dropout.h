// Inverted dropout (Srivastava et al. 2014). Whether an element stays is a pure function of the key and its row-major
// index, so backward runs the same kernel over the gradient, and every device drops the same elements.
#pragma once

#include <cstdint>

#include "tessera/core/random.h"
#include "tessera/kernels/slot.h"

namespace tessera::kernels {

struct DropoutRule {
    RandomKey key;
    std::uint32_t threshold;  // element i stays if random_bits(key, i) ≥ threshold
    double scale;             // of those that stay; rounded to f32 for f32 and the 16-bit dtypes
};

// x and out are contiguous and share a float dtype.
inline Slot<void(const DropoutRule& rule, const View& x, const View& out)> dropout{"dropout"};

}  // namespace tessera::kernels
