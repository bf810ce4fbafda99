// Rotary positions (Su et al. 2021): the frequencies of one model, turned on queries and keys, never on values.
#pragma once

#include "tessera/nn/device_copies.h"
#include "tessera/ops/rope.h"

namespace tessera::nn {

struct RopeSettings {
    std::int64_t rotary_width = 0;  // how many of a head's dimensions turn
    double theta = 10000;
    ops::RopePairing pairing = ops::RopePairing::HalfSplit;
    ops::RopeScaling scaling = {};
};

// No parameters: the table follows from the settings, so it is no Module.
class Rope {
   public:
    Rope() = default;  // rotates nothing
    explicit Rope(const RopeSettings& settings);

    // x (B, T, H, D), positions i64 (T) or (B, T).
    Tensor forward(const Tensor& x, const Tensor& positions) const;
    const ops::RopeScaling& scaling() const { return settings_.scaling; }

   private:
    Tensor frequencies(const Tensor& positions, Device device) const;

    RopeSettings settings_;
    DeviceCopies frequencies_;
    DeviceCopies long_frequencies_;  // of texts longer than the original length, where those turn otherwise
    double magnitude_ = 1;
};

}  // namespace tessera::nn
