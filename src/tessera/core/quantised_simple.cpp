// Blocks of 32 values around one scale.
//
//     q8_0   scale, 32 signed bytes                                 value = scale · q
//     q4_0   scale, 16 bytes of nibbles                             value = scale · (q − 8)
//     q4_1   scale, minimum, 16 bytes of nibbles                    value = scale · q + minimum
//     q5_0   scale, 32 high bits, 16 bytes of nibbles               value = scale · (q − 16)
//     q5_1   scale, minimum, 32 high bits, 16 bytes of nibbles      value = scale · q + minimum
//
// Byte i of the nibbles holds value i in its low half and value i + 16 in its high half.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "tessera/core/quantised.h"

namespace tessera {
namespace {

constexpr int elements = 32;
constexpr int nibble_bytes = elements / 2;

void decode_q8_0(const void* blocks, float* values, std::int64_t block_count) {
    const auto* bytes = static_cast<const std::uint8_t*>(blocks);
    for (std::int64_t b = 0; b < block_count; ++b, bytes += 2 + elements, values += elements) {
        const float scale = load_half(bytes);
        for (int i = 0; i < elements; ++i)
            values[i] = scale * static_cast<float>(static_cast<std::int8_t>(bytes[2 + i]));
    }
}

void encode_q8_0(const float* values, void* blocks, std::int64_t block_count) {
    auto* bytes = static_cast<std::uint8_t*>(blocks);
    for (std::int64_t b = 0; b < block_count; ++b, bytes += 2 + elements, values += elements) {
        float largest = 0;
        for (int i = 0; i < elements; ++i) largest = std::max(largest, std::fabs(values[i]));
        const float scale = largest / 127.0f, inverse = inverse_or_zero(scale);
        store_half(scale, bytes);
        for (int i = 0; i < elements; ++i)
            bytes[2 + i] = static_cast<std::uint8_t>(nearest_within(values[i] * inverse, -127, 127));
    }
}

template <int Bits, bool HasMinimum>
struct Nibbles {
    static constexpr int levels = (1 << Bits) - 1;
    static constexpr int zero = HasMinimum ? 0 : 1 << (Bits - 1);  // the q that stands for 0
    static constexpr int high_at = HasMinimum ? 4 : 2;
    static constexpr int low_at = high_at + (Bits == 5 ? 4 : 0);
    static constexpr int bytes = low_at + nibble_bytes;

    static void decode(const void* blocks, float* values, std::int64_t block_count) {
        const auto* block = static_cast<const std::uint8_t*>(blocks);
        for (std::int64_t b = 0; b < block_count; ++b, block += bytes, values += elements) {
            const float scale = load_half(block), minimum = HasMinimum ? load_half(block + 2) : 0;
            std::uint32_t high = 0;
            if constexpr (Bits == 5) std::memcpy(&high, block + high_at, sizeof high);
            const auto value = [&](int nibble, int i) {
                const int q = nibble | static_cast<int>(high >> i & 1u) << 4;
                if constexpr (HasMinimum) return static_cast<float>(q) * scale + minimum;
                return static_cast<float>(q - zero) * scale;
            };
            std::uint8_t nibbles[nibble_bytes];  // a copy that `values` cannot alias
            std::memcpy(nibbles, block + low_at, nibble_bytes);
#pragma GCC unroll 1  // unrolled, these loops would not become vectors
            for (int i = 0; i < nibble_bytes; ++i) values[i] = value(nibbles[i] & 15, i);
#pragma GCC unroll 1
            for (int i = 0; i < nibble_bytes; ++i) values[i + 16] = value(nibbles[i] >> 4, i + 16);
        }
    }

    static void encode(const float* values, void* blocks, std::int64_t block_count) {
        auto* block = static_cast<std::uint8_t*>(blocks);
        for (std::int64_t b = 0; b < block_count; ++b, block += bytes, values += elements) {
            const auto [low, high] = std::minmax_element(values, values + elements);
            // Without a minimum there is one more value below zero than above, so the furthest value is put there.
            const float furthest = std::fabs(*low) > std::fabs(*high) ? *low : *high;
            const float scale = HasMinimum ? (*high - *low) / levels : furthest / -zero;
            const float shift = HasMinimum ? *low : 0, inverse = inverse_or_zero(scale);
            std::uint32_t high_bits = 0;
            std::memset(block, 0, bytes);
            store_half(scale, block);
            if constexpr (HasMinimum) store_half(shift, block + 2);
            for (int i = 0; i < elements; ++i) {
                const int q = nearest_within((values[i] - shift) * inverse + zero, 0, levels);
                block[low_at + i % nibble_bytes] |= static_cast<std::uint8_t>((q & 15) << (i < nibble_bytes ? 0 : 4));
                high_bits |= static_cast<std::uint32_t>(q >> 4) << i;
            }
            if constexpr (Bits == 5) std::memcpy(block + high_at, &high_bits, sizeof high_bits);
        }
    }

    static constexpr BlockCodec codec{decode, encode};
};

}  // namespace

const BlockCodec q8_0_codec{decode_q8_0, encode_q8_0};
const BlockCodec q4_0_codec = Nibbles<4, false>::codec;
const BlockCodec q4_1_codec = Nibbles<4, true>::codec;
const BlockCodec q5_0_codec = Nibbles<5, false>::codec;
const BlockCodec q5_1_codec = Nibbles<5, true>::codec;

}  // namespace tessera
