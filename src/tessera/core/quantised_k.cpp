// Blocks of 256 values in sub-blocks with scales of their own.
//
//     q4_k   d, dmin (f16), 8 pairs of 6-bit (scale, minimum) in 12 bytes, 128 bytes of nibbles
//     q5_k   the same, with 32 bytes of high bits before the nibbles
//            8 sub-blocks of 32:    value = d · scale · q − dmin · minimum
//     q6_k   128 bytes of low nibbles, 64 bytes of high bit pairs, 16 signed bytes of scales, d (f16)
//            16 sub-blocks of 16:   value = d · scale · (q − 32)
#include <algorithm>
#include <cmath>
#include <cstring>

#include "tessera/core/quantised.h"

namespace tessera {
namespace {

constexpr int elements = 256;

// Eight pairs of 6 bits in 12 bytes. Pairs 0 to 3 fill the low six bits of bytes 0 to 3 (scales) and 4 to 7 (minima);
// pairs 4 to 7 have their low nibbles in bytes 8 to 11 and their high two bits at the top of bytes 0 to 7.
struct SubBlockScales {
    int scale[8], minimum[8];
};

SubBlockScales unpack(const std::uint8_t* bytes) {
    SubBlockScales out;
    for (int i = 0; i < 4; ++i) {
        out.scale[i] = bytes[i] & 63;
        out.minimum[i] = bytes[i + 4] & 63;
        out.scale[i + 4] = (bytes[i + 8] & 15) | (bytes[i] >> 6) << 4;
        out.minimum[i + 4] = bytes[i + 8] >> 4 | (bytes[i + 4] >> 6) << 4;
    }
    return out;
}

void pack(const SubBlockScales& scales, std::uint8_t* bytes) {
    for (int i = 0; i < 4; ++i) {
        const int scale = scales.scale[i + 4], minimum = scales.minimum[i + 4];
        bytes[i] = static_cast<std::uint8_t>(scales.scale[i] | (scale >> 4) << 6);
        bytes[i + 4] = static_cast<std::uint8_t>(scales.minimum[i] | (minimum >> 4) << 6);
        bytes[i + 8] = static_cast<std::uint8_t>((scale & 15) | (minimum & 15) << 4);
    }
}

// Sub-blocks 2j and 2j + 1 share 32 bytes: the first in the low nibbles, the second in the high ones. Bit s of high
// byte i is the fifth bit of value i of sub-block s.
template <int Bits>
struct WithMinima {
    static constexpr int levels = (1 << Bits) - 1;
    static constexpr int sub_blocks = 8, width = 32;
    static constexpr int high_at = 16;
    static constexpr int low_at = high_at + (Bits == 5 ? width : 0);
    static constexpr int bytes = low_at + elements / 2;

    static void decode(const void* blocks, float* values, std::int64_t block_count) {
        const auto* block = static_cast<const std::uint8_t*>(blocks);
        for (std::int64_t b = 0; b < block_count; ++b, block += bytes) {
            const float d = load_half(block), dmin = load_half(block + 2);
            const SubBlockScales scales = unpack(block + 4);
            for (int s = 0; s < sub_blocks; ++s, values += width) {
                const float scale = d * static_cast<float>(scales.scale[s]);
                const float minimum = dmin * static_cast<float>(scales.minimum[s]);
                const std::uint8_t* low = block + low_at + s / 2 * width;
                const int shift = s % 2 * 4;
                for (int i = 0; i < width; ++i) {
                    int q = low[i] >> shift & 15;
                    if constexpr (Bits == 5) q |= (block[high_at + i] >> s & 1) << 4;
                    values[i] = scale * static_cast<float>(q) - minimum;
                }
            }
        }
    }

    static void encode(const float* values, void* blocks, std::int64_t block_count) {
        auto* block = static_cast<std::uint8_t*>(blocks);
        for (std::int64_t b = 0; b < block_count; ++b, block += bytes, values += elements) {
            float scale[sub_blocks], minimum[sub_blocks];  // minima are stored positive and taken away
            for (int s = 0; s < sub_blocks; ++s) {
                const auto [low, high] = std::minmax_element(values + s * width, values + (s + 1) * width);
                minimum[s] = std::max(0.0f, -*low);
                scale[s] = std::max(0.0f, *high + minimum[s]) / levels;
            }
            std::memset(block, 0, bytes);
            const float d = store_half(*std::max_element(scale, scale + sub_blocks) / 63, block);
            const float dmin = store_half(*std::max_element(minimum, minimum + sub_blocks) / 63, block + 2);
            SubBlockScales scales;
            for (int s = 0; s < sub_blocks; ++s) {
                scales.scale[s] = nearest_within(scale[s] * inverse_or_zero(d), 0, 63);
                scales.minimum[s] = nearest_within(minimum[s] * inverse_or_zero(dmin), 0, 63);
                encode_sub_block(values + s * width, d * static_cast<float>(scales.scale[s]),
                                 dmin * static_cast<float>(scales.minimum[s]), block, s);
            }
            pack(scales, block + 4);
        }
    }

    static void encode_sub_block(const float* values, float scale, float minimum, std::uint8_t* block, int s) {
        const float inverse = inverse_or_zero(scale);
        for (int i = 0; i < width; ++i) {
            const int q = nearest_within((values[i] + minimum) * inverse, 0, levels);
            block[low_at + s / 2 * width + i] |= static_cast<std::uint8_t>((q & 15) << s % 2 * 4);
            if constexpr (Bits == 5) block[high_at + i] |= static_cast<std::uint8_t>((q >> 4) << s);
        }
    }

    static constexpr BlockCodec codec{decode, encode};
};

// Where value i of a q6_k block keeps its bits: each half of 128 values has 64 bytes of nibbles, values 0 to 63 in the
// low and 64 to 127 in the high ones, and 32 bytes of bit pairs, four runs of 32 values above each other.
struct Q6Place {
    int low_byte, low_shift, high_byte, high_shift;
};

constexpr Q6Place q6_place(int i) {
    const int half = i / 128, within = i % 128;
    return {half * 64 + within % 64, within / 64 * 4, half * 32 + within % 32, within / 32 * 2};
}

constexpr int q6_high_at = 128, q6_scales_at = 192, q6_d_at = 208, q6_bytes = 210;
constexpr int q6_sub_blocks = 16, q6_width = 16;

// Small integers first, floats after: the compiler makes vectors of each step.
void decode_q6_k(const void* blocks, float* values, std::int64_t block_count) {
    const auto* block = static_cast<const std::uint8_t*>(blocks);
    for (std::int64_t b = 0; b < block_count; ++b, block += q6_bytes) {
        std::int8_t q[elements];
        for (int half = 0; half < 2; ++half) {
            const std::uint8_t *low = block + half * 64, *high = block + q6_high_at + half * 32;
            std::int8_t* out = q + half * 128;
            for (int i = 0; i < 32; ++i) {
                out[i] = static_cast<std::int8_t>(((low[i] & 15) | (high[i] & 3) << 4) - 32);
                out[i + 32] = static_cast<std::int8_t>(((low[i + 32] & 15) | (high[i] >> 2 & 3) << 4) - 32);
                out[i + 64] = static_cast<std::int8_t>((low[i] >> 4 | (high[i] >> 4 & 3) << 4) - 32);
                out[i + 96] = static_cast<std::int8_t>((low[i + 32] >> 4 | high[i] >> 6 << 4) - 32);
            }
        }
        const float d = load_half(block + q6_d_at);
        for (int s = 0; s < q6_sub_blocks; ++s, values += q6_width) {
            const float scale = d * static_cast<float>(static_cast<std::int8_t>(block[q6_scales_at + s]));
            for (int i = 0; i < q6_width; ++i) values[i] = scale * static_cast<float>(q[s * q6_width + i]);
        }
    }
}

void encode_q6_k(const float* values, void* blocks, std::int64_t block_count) {
    auto* block = static_cast<std::uint8_t*>(blocks);
    for (std::int64_t b = 0; b < block_count; ++b, block += q6_bytes, values += elements) {
        float scale[q6_sub_blocks], largest = 0;
        for (int s = 0; s < q6_sub_blocks; ++s) {
            const auto [low, high] = std::minmax_element(values + s * q6_width, values + (s + 1) * q6_width);
            // There is one more value below zero than above, so the furthest value is put there.
            scale[s] = (std::fabs(*low) > std::fabs(*high) ? *low : *high) / -32;
            largest = std::max(largest, std::fabs(scale[s]));
        }
        std::memset(block, 0, q6_bytes);
        const float d = store_half(largest / 127, block + q6_d_at);
        for (int s = 0; s < q6_sub_blocks; ++s) {
            const int whole = nearest_within(scale[s] * inverse_or_zero(d), -127, 127);
            block[q6_scales_at + s] = static_cast<std::uint8_t>(whole);
            const float inverse = inverse_or_zero(d * static_cast<float>(whole));
            for (int i = s * q6_width; i < (s + 1) * q6_width; ++i) {
                const int q = nearest_within(values[i] * inverse + 32, 0, 63);
                const Q6Place place = q6_place(i);
                block[place.low_byte] |= static_cast<std::uint8_t>((q & 15) << place.low_shift);
                block[q6_high_at + place.high_byte] |= static_cast<std::uint8_t>((q >> 4) << place.high_shift);
            }
        }
    }
}

}  // namespace

const BlockCodec q4_k_codec = WithMinima<4>::codec;
const BlockCodec q5_k_codec = WithMinima<5>::codec;
const BlockCodec q6_k_codec{decode_q6_k, encode_q6_k};

}  // namespace tessera
