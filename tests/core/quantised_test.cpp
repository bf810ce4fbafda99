// Decoding is held against each format's definition, written out value by value; encoding against the size of a step.
#include "tessera/core/quantised.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <vector>

#include "support/expect_error.h"
#include "tessera/core/random.h"

namespace tessera {
namespace {

constexpr DType quantised[] = {DType::Q8_0, DType::Q4_0, DType::Q4_1, DType::Q5_0,
                               DType::Q5_1, DType::Q4_K, DType::Q5_K, DType::Q6_K};
using Bytes = std::vector<std::uint8_t>;

Bytes encode(DType dtype, const std::vector<float>& values) {
    const auto count = static_cast<std::int64_t>(values.size());
    Bytes bytes(static_cast<std::size_t>(bytes_of(dtype, count)));
    info(dtype).codec->encode(values.data(), bytes.data(), count / info(dtype).block_elements);
    return bytes;
}

std::vector<float> decode(DType dtype, const Bytes& bytes) {
    const auto blocks = static_cast<std::int64_t>(bytes.size()) / info(dtype).block_bytes;
    std::vector<float> out(static_cast<std::size_t>(blocks * info(dtype).block_elements));
    info(dtype).codec->decode(bytes.data(), out.data(), blocks);
    return out;
}

std::vector<float> through(DType dtype, const std::vector<float>& values) {
    return decode(dtype, encode(dtype, values));
}

float half_at(const std::uint8_t* bytes) {
    Float16 half;
    half.bits = static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8);
    return half;
}

// The value at index i of one block, looked up bit by bit.
float defined_value(DType dtype, const std::uint8_t* b, int i) {
    const float d = half_at(b), m = half_at(b + 2);
    const auto nibble = [&](const std::uint8_t* from) { return i < 16 ? from[i] & 15 : from[i - 16] >> 4; };
    const auto fifth = [&](const std::uint8_t* from) { return (from[i / 8] >> (i % 8) & 1) * 16; };
    switch (dtype) {
        case DType::Q8_0: return d * static_cast<float>(static_cast<std::int8_t>(b[2 + i]));
        case DType::Q4_0: return d * static_cast<float>(nibble(b + 2) - 8);
        case DType::Q4_1: return d * static_cast<float>(nibble(b + 4)) + m;
        case DType::Q5_0: return d * static_cast<float>(nibble(b + 6) + fifth(b + 2) - 16);
        case DType::Q5_1: return d * static_cast<float>(nibble(b + 8) + fifth(b + 4)) + m;
        case DType::Q4_K:
        case DType::Q5_K: {
            const int s = i / 32;
            const std::uint8_t* scales = b + 4;
            const int scale = s < 4 ? scales[s] % 64 : scales[s + 4] % 16 + scales[s - 4] / 64 * 16;
            const int minimum = s < 4 ? scales[s + 4] % 64 : scales[s + 4] / 16 + scales[s] / 64 * 16;
            const std::uint8_t* low = b + (dtype == DType::Q4_K ? 16 : 48);
            int q = i % 64 < 32 ? low[i / 64 * 32 + i % 32] % 16 : low[i / 64 * 32 + i % 32] / 16;
            if (dtype == DType::Q5_K) q += (b[16 + i % 32] >> s & 1) * 16;
            return d * static_cast<float>(scale) * static_cast<float>(q) - m * static_cast<float>(minimum);
        }
        default: {  // q6_k
            const int half = i / 128, j = i % 128;
            const int byte = b[half * 64 + j % 64], low = j < 64 ? byte % 16 : byte / 16;
            const int high = b[128 + half * 32 + j % 32] >> (j / 32 * 2) & 3;
            const auto scale = static_cast<float>(static_cast<std::int8_t>(b[192 + i / 16]));
            return half_at(b + 208) * scale * static_cast<float>(low + 16 * high - 32);
        }
    }
}

// Blocks of random bits, their f16 scales made finite: everything else about a block may be any bits.
Bytes random_blocks(DType dtype, int blocks) {
    Bytes bytes(static_cast<std::size_t>(blocks * info(dtype).block_bytes));
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::uint8_t>(random_bits({.seed = 5}, i) >> 7);
    for (int b = 0; b < blocks; ++b) {
        std::uint8_t* block = bytes.data() + b * info(dtype).block_bytes;
        for (const int place : dtype == DType::Q6_K ? std::vector<int>{208} : std::vector<int>{0, 2})
            if ((block[place + 1] & 0x7c) == 0x7c) block[place + 1] ^= 0x40;
    }
    return bytes;
}

TEST(Quantised, DecodesAsDefined) {
    for (const DType dtype : quantised) {
        const Bytes bytes = random_blocks(dtype, 40);
        const std::vector<float> values = decode(dtype, bytes);
        const int length = info(dtype).block_elements;
        for (std::size_t n = 0; n < values.size(); ++n) {
            const std::uint8_t* block = bytes.data() + n / length * info(dtype).block_bytes;
            const float expected = defined_value(dtype, block, static_cast<int>(n) % length);
            ASSERT_EQ(std::bit_cast<std::uint32_t>(values[n]), std::bit_cast<std::uint32_t>(expected))
                << name(dtype) << " value " << n;
        }
    }
}

// The largest step between two neighbouring values, as a part of the block's range, with what rounding the scales adds.
double step_of(DType dtype) {
    switch (dtype) {
        case DType::Q8_0: return 1.0 / 254;
        case DType::Q4_0: return 1.0 / 15;  // the far side of zero has one value less
        case DType::Q4_1: return 1.0 / 15;
        case DType::Q5_0: return 1.0 / 31;
        case DType::Q5_1: return 1.0 / 31;
        case DType::Q4_K: return 1.0 / 15 + 1.0 / 63;  // minima are whole multiples of a 63rd
        case DType::Q5_K: return 1.0 / 31 + 1.0 / 63;
        default: return 1.0 / 63 + 1.0 / 127;
    }
}

std::vector<float> random_values(std::size_t count) {
    std::vector<float> values;
    for (std::uint64_t i = 0; i < count; ++i)
        values.push_back((uniform(random_bits({.seed = 3}, i)) - 0.5f) * static_cast<float>(1 + i / 256));
    return values;
}

TEST(Quantised, EncodingErrsByAboutAStep) {
    const std::vector<float> values = random_values(256 * 20);
    for (const DType dtype : quantised) {
        const std::vector<float> out = through(dtype, values);
        double squares = 0, errors = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double range = static_cast<double>(1 + i / 256);  // values lie within ± half of it
            ASSERT_NEAR(out[i], values[i], step_of(dtype) * range) << name(dtype) << " value " << i;
            squares += values[i] * values[i];
            errors += (out[i] - values[i]) * (out[i] - values[i]);
        }
        // Uniform values: the range is √12 standard init_stds, an error spread evenly over a step is step / √12.
        EXPECT_LE(std::sqrt(errors / squares), step_of(dtype) * 1.1) << name(dtype);
    }
}

TEST(Quantised, MoreBitsErrLess) {
    const std::vector<float> values = random_values(256 * 20);
    const auto error = [&](DType dtype) {
        const std::vector<float> out = through(dtype, values);
        double sum = 0;
        for (std::size_t i = 0; i < values.size(); ++i) sum += (out[i] - values[i]) * (out[i] - values[i]);
        return sum;
    };
    EXPECT_LT(error(DType::Q8_0), error(DType::Q6_K));
    EXPECT_LT(error(DType::Q6_K), error(DType::Q5_K));
    EXPECT_LT(error(DType::Q5_K), error(DType::Q4_K));
    EXPECT_LT(error(DType::Q5_1), error(DType::Q4_1));
    EXPECT_LT(error(DType::Q5_0), error(DType::Q4_0));
}

TEST(Quantised, ZerosAndWholeStepsComeBackExactly) {
    const std::vector<float> zeros(256, 0.0f);
    for (const DType dtype : quantised) EXPECT_EQ(through(dtype, zeros), zeros) << name(dtype);
    // Every level once around a scale of 1/4, which f16 and all the small integers hold exactly.
    const auto levels = [](int low, int high, float scale) {
        std::vector<float> values;
        for (int i = 0; i < 256; ++i) values.push_back(static_cast<float>(low + i % (high - low + 1)) * scale);
        return values;
    };
    EXPECT_EQ(through(DType::Q4_0, levels(-8, 7, 0.25f)), levels(-8, 7, 0.25f));
    EXPECT_EQ(through(DType::Q4_1, levels(-3, 12, 0.25f)), levels(-3, 12, 0.25f));
    EXPECT_EQ(through(DType::Q5_0, levels(-16, 15, 0.25f)), levels(-16, 15, 0.25f));
    EXPECT_EQ(through(DType::Q5_1, levels(-5, 26, 0.25f)), levels(-5, 26, 0.25f));
    EXPECT_EQ(through(DType::Q4_K, levels(0, 15, 63.0f)), levels(0, 15, 63.0f));
    EXPECT_EQ(through(DType::Q5_K, levels(0, 31, 63.0f)), levels(0, 31, 63.0f));
    EXPECT_EQ(through(DType::Q6_K, levels(-32, -17, 127.0f)), levels(-32, -17, 127.0f));
}

TEST(Quantised, EncodingWhatWasDecodedChangesNothingWhereScalesAreFree) {
    const std::vector<float> values = random_values(256 * 4);
    for (const DType dtype : {DType::Q8_0, DType::Q4_0, DType::Q5_0}) {
        const std::vector<float> once = through(dtype, values);
        const std::vector<float> twice = through(dtype, once);
        for (std::size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(twice[i], once[i], std::fabs(once[i]) * 1e-3);
    }
}

TEST(Quantised, WhatIsNotANumberIsEncodedWithoutHarm) {
    for (const DType dtype : quantised)
        for (const float bad : {NAN, INFINITY, -INFINITY}) {
            std::vector<float> values = random_values(256);
            values[17] = bad;
            EXPECT_EQ(through(dtype, values).size(), values.size());
        }
}

TEST(Quantised, Q8_0IsAnF16ScaleAndSignedBytes) {
    std::vector<float> values(32, 0.0f);
    values[0] = 127.0f;
    values[1] = -127.0f;
    values[2] = 3.0f;
    const Bytes bytes = encode(DType::Q8_0, values);
    EXPECT_EQ(bytes[0] | bytes[1] << 8, Float16(1.0f).bits);
    EXPECT_EQ(static_cast<std::int8_t>(bytes[2]), 127);
    EXPECT_EQ(static_cast<std::int8_t>(bytes[3]), -127);
    EXPECT_EQ(static_cast<std::int8_t>(bytes[4]), 3);
    EXPECT_EQ(decode(DType::Q8_0, bytes), values);
}

}  // namespace
}  // namespace tessera
