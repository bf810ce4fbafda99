// The two 16-bit float formats as storage types. Arithmetic happens in float; these only convert, rounding to nearest
// even.
#pragma once

#include <bit>
#include <cstdint>

namespace tessera {

struct BFloat16 {
    std::uint16_t bits = 0;

    BFloat16() = default;
    constexpr explicit BFloat16(float value) : bits(round(value)) {}
    constexpr operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

   private:
    static constexpr std::uint16_t round(float value) {
        const auto word = std::bit_cast<std::uint32_t>(value);
        const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
        if (is_nan) return static_cast<std::uint16_t>((word >> 16) | 0x40u);  // keep it a NaN, made quiet
        return static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
    }
};

struct Float16 {
    std::uint16_t bits = 0;

    Float16() = default;
    constexpr explicit Float16(float value) : bits(round(value)) {}
    constexpr operator float() const {
        const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
        const std::uint32_t magnitude = bits & 0x7fffu;
        if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
        if (magnitude >= 0x0400u) return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
        const float subnormal = static_cast<float>(magnitude) * 0x1p-24f;
        return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(subnormal));
    }

   private:
    static constexpr std::uint16_t round(float value) {
        const auto word = std::bit_cast<std::uint32_t>(value);
        const auto sign = static_cast<std::uint16_t>((word >> 16) & 0x8000u);
        const std::uint32_t magnitude = word & 0x7fffffffu;
        if (magnitude > 0x7f800000u) return sign | 0x7e00u;   // NaN
        if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // rounds past 65504: infinity
        if (magnitude < 0x38800000u) {                        // below 2^-14: subnormal, one unit is 2^-24
            // Adding 0.5 leaves the value's multiples of 2^-24 in the low mantissa bits, rounded to nearest even.
            const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
            return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u);
        }
        const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
        return sign | static_cast<std::uint16_t>((rounded - (112u << 23)) >> 13);
    }
};

}  // namespace tessera
