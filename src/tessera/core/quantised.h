// The codecs of the block-quantised dtypes, in the layouts of ggml (github.com/ggml-org/ggml, GGUF's types of the same
// names). The simple ones keep 32 values around one f16 scale, with an f16 minimum where the name ends in _1; the K
// ones keep 256 values as sub-blocks whose own scales are small integers times one f16.
//
// Every product in decoding fits float's mantissa (a scale has 11 bits, a value at most 8), so the only rounding is
// that of adding a minimum: any order of operations, fused or not, gives the same bits.
#pragma once

#include <cstring>

#include "tessera/core/dtype.h"

namespace tessera {

extern const BlockCodec q8_0_codec, q4_0_codec, q4_1_codec, q5_0_codec, q5_1_codec;
extern const BlockCodec q4_k_codec, q5_k_codec, q6_k_codec;

inline float load_half(const std::uint8_t* bytes) {
    Float16 half;
    std::memcpy(&half.bits, bytes, sizeof half.bits);
    return half;
}

// Returns what was stored: the value as f16 has it.
inline float store_half(float value, std::uint8_t* bytes) {
    const Float16 half(value);
    std::memcpy(bytes, &half.bits, sizeof half.bits);
    return half;
}

// The whole number nearest to `value` within [low, high]; `low` for what is not a number.
inline int nearest_within(float value, int low, int high) {
    if (!(value > static_cast<float>(low))) return low;
    if (value >= static_cast<float>(high)) return high;
    return static_cast<int>(value + (value < 0 ? -0.5f : 0.5f));
}

inline float inverse_or_zero(float value) { return value != 0 ? 1.0f / value : 0.0f; }

}  // namespace tessera
