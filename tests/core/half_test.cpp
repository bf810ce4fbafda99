#include "tessera/core/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tessera/core/random.h"
#include "tessera/tensor/tensor.h"

namespace tessera {
namespace {

// Both formats from their definition: sign, exponent of `exponent_bits`, fraction of `fraction_bits`.
struct Format {
    int exponent_bits, fraction_bits;
    int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    int top_exponent() const { return (1 << exponent_bits) - 1; }
};
constexpr Format f16{5, 10}, bf16{8, 7};

double value_of(Format format, std::uint16_t bits) {
    const int fraction = bits & ((1 << format.fraction_bits) - 1);
    const int exponent = bits >> format.fraction_bits & format.top_exponent();
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == format.top_exponent())
        return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - format.bias() - format.fraction_bits);
    return sign * std::ldexp(fraction + (1 << format.fraction_bits), exponent - format.bias() - format.fraction_bits);
}

// Nearest, ties to even, found by bisection among all positive values of the format; past the middle between the
// largest and what would come next, infinity.
std::uint16_t rounded(Format format, float value) {
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const double magnitude = std::fabs(double{value});
    const auto infinity = static_cast<std::uint16_t>(format.top_exponent() << format.fraction_bits);
    std::uint16_t below = 0, above = infinity;  // value_of(below) ≤ magnitude < value_of(above)
    if (std::isinf(value)) return sign | infinity;
    while (above - below > 1) {
        const auto middle = static_cast<std::uint16_t>((below + above) / 2);
        (value_of(format, middle) <= magnitude ? below : above) = middle;
    }
    const double next =
        above == infinity ? 2 * value_of(format, below) - value_of(format, below - 1) : value_of(format, above);
    const double middle = (value_of(format, below) + next) / 2;
    const bool up = magnitude > middle || (magnitude == middle && below % 2 == 1);
    return sign | (up ? above : below);
}

template <class Half>
void every_pattern_round_trips(Format format) {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        Half half;
        half.bits = static_cast<std::uint16_t>(bits);
        const auto value = static_cast<float>(half);
        const double expected = value_of(format, half.bits);
        if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(value)) << bits;
            ASSERT_TRUE(std::isnan(static_cast<float>(Half(value)))) << bits;
            continue;
        }
        ASSERT_EQ(value, expected) << bits;
        ASSERT_EQ(std::signbit(value), bits >= 0x8000) << bits;
        ASSERT_EQ(Half(value).bits, bits);
    }
}

TEST(Half, EveryPatternRoundTrips) {
    every_pattern_round_trips<Float16>(f16);
    every_pattern_round_trips<BFloat16>(bf16);
}

// Random floats of every exponent, every value of the format, the middles between neighbours, and one step to each
// side of those.
std::vector<float> hard_values(Format format) {
    std::vector<float> values{0.0f,
                              -0.0f,
                              std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::max(),
                              std::numeric_limits<float>::denorm_min()};
    for (std::uint64_t i = 0; i < 200'000; ++i) {
        const auto value = std::bit_cast<float>(random_bits({.seed = 17}, i));
        if (!std::isnan(value)) values.push_back(value);
    }
    for (std::uint16_t bits = 0; bits < format.top_exponent() << format.fraction_bits; bits += 1) {
        const double here = value_of(format, bits);
        const bool last = bits + 1 == format.top_exponent() << format.fraction_bits;
        const double next = last ? 2 * here - value_of(format, bits - 1) : value_of(format, bits + 1);
        const auto middle = static_cast<float>((here + next) / 2);
        for (const float value : {static_cast<float>(here), middle, std::nextafter(middle, 0.0f),
                                  std::nextafter(middle, std::numeric_limits<float>::infinity())}) {
            values.push_back(value);
            values.push_back(-value);
        }
    }
    return values;
}

template <class Half>
void rounding_follows_the_definition(Format format) {
    for (const float value : hard_values(format)) ASSERT_EQ(Half(value).bits, rounded(format, value)) << value;
}

TEST(Half, RoundsToNearestEven) {
    rounding_follows_the_definition<Float16>(f16);
    rounding_follows_the_definition<BFloat16>(bf16);
}

TEST(Half, NanStaysNanWhateverItsPayload) {
    for (const std::uint32_t payload : {0x7f800001u, 0x7fc00000u, 0xff800001u, 0x7fffffffu, 0x7f80ffffu}) {
        EXPECT_TRUE(std::isnan(static_cast<float>(Float16(std::bit_cast<float>(payload))))) << payload;
        EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(payload))))) << payload;
    }
}

// The copy kernel converts through vectors, and element by element where the strides ask for it.
template <class Half>
void vectors_agree_with_scalars(Format format) {
    const Tensor patterns = Tensor::empty({65536}, dtype_of<Half>);
    for (int bits = 0; bits < 65536; ++bits) patterns.data<Half>()[bits].bits = static_cast<std::uint16_t>(bits);
    const Tensor floats = patterns.to(DType::F32);
    const Tensor back = floats.to(dtype_of<Half>);
    for (int bits = 0; bits < 65536; ++bits) {
        const auto expected = static_cast<float>(patterns.data<Half>()[bits]);
        if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(floats.data<float>()[bits])) << bits;
            ASSERT_TRUE(std::isnan(static_cast<float>(back.data<Half>()[bits]))) << bits;
            continue;
        }
        ASSERT_EQ(floats.data<float>()[bits], expected) << bits;
        ASSERT_EQ(back.data<Half>()[bits].bits, bits);
    }
    const std::vector<float> values = hard_values(format);
    const auto count = static_cast<std::int64_t>(values.size());
    const Tensor half = Tensor::from(values, {count}).to(dtype_of<Half>);
    for (std::int64_t i = 0; i < count; ++i)
        ASSERT_EQ(half.data<Half>()[i].bits, Half(values[static_cast<std::size_t>(i)]).bits)
            << values[static_cast<std::size_t>(i)];
}

TEST(Half, VectorConvertersAgreeWithScalarOnes) {
    vectors_agree_with_scalars<Float16>(f16);
    vectors_agree_with_scalars<BFloat16>(bf16);
}

}  // namespace
}  // namespace tessera
