// How fast each pair of a rotary embedding turns, and how models stretch that to longer contexts. The numbers are those
// of Hugging Face's configurations, computed in f32 as there: at large positions the last bit of a frequency shows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

enum class RopeScalingKind : std::uint8_t {
    None,
    Linear,        // every frequency divided by factor (Chen et al. 2023)
    DynamicNtk,    // a larger base once the sequence is longer than original_length
    Yarn,          // slow pairs divided, fast ones kept, a ramp between (Peng et al. 2023)
    ByWavelength,  // the same idea, with the ramp over wavelengths
    Longrope       // every pair divided by a factor of its own, other ones past the original length (Ding et al. 2024)
};

struct RopeScaling {
    RopeScalingKind kind = RopeScalingKind::None;
    double factor = 1;
    std::int64_t original_length = 0;  // the context trained with; dynamic_ntk, yarn and by_wavelength need it

    // yarn: pairs turning more than beta_fast times over the original length are kept, fewer than beta_slow divided.
    double beta_fast = 32, beta_slow = 1;
    std::optional<double> attention_factor = {};  // the magnitude itself (longrope too); else from factor and mscale
    double mscale = 0, mscale_all_dim = 0;        // magnitude(mscale) / magnitude(mscale_all_dim) where both are given
    bool truncate = true;                         // whether the ramp begins and ends at whole pairs

    // by_wavelength (llama3 in config.json): wavelengths above original_length / low_frequency_factor are divided,
    // those below original_length / high_frequency_factor kept.
    double low_frequency_factor = 1, high_frequency_factor = 4;

    // longrope: one per pair.
    std::vector<double> short_factors = {}, long_factors = {};
};

struct RopeFrequencies {
    Tensor inverse_frequencies;  // f32 (rotary_width / 2)
    double magnitude = 1;        // of rotated queries and keys
};

// `sequence_length` matters to dynamic_ntk and longrope only.
RopeFrequencies rope_frequencies(std::int64_t rotary_width, double theta, const RopeScaling& scaling = {},
                                 std::int64_t sequence_length = 0);

// YaRN's temperature 0.1 · mscale · ln(factor) + 1, and 1 for factors up to 1.
double yarn_magnitude(double factor, double mscale = 1);

}  // namespace tessera::ops
