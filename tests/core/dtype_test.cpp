#include "core/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.h"
#include "support/expect_error.h"

namespace tessera {
namespace {

using testing::expect_error;

constexpr DType all[] = {DType::F64, DType::F32, DType::BF16, DType::F16, DType::I64,
                         DType::I32, DType::U8,  DType::Bool, DType::Q8_0};

TEST(DType, NamesRoundTrip) {
    for (const DType dtype : all) EXPECT_EQ(dtype_from_name(name(dtype)), dtype);
    expect_error([] { dtype_from_name("f12"); }, {"f12"});
}

TEST(DType, SizesAreThoseOfTheTypes) {
    for (const DType dtype : all) {
        if (is_quantised(dtype)) continue;
        visit_plain(dtype, "test", [&]<class T>(Type<T>) {
            EXPECT_EQ(dtype_of<T>, dtype);
            EXPECT_EQ(bytes_of(dtype, 3), static_cast<std::int64_t>(3 * sizeof(T)));
        });
    }
    EXPECT_EQ(bytes_of(DType::Q8_0, 64), 68);
    expect_error([] { bytes_of(DType::F64, std::int64_t{1} << 61); }, {"f64", "2305843009213693952"});
    expect_error([] { bytes_of(DType::Q8_0, 33); }, {"q8_0", "33", "32"});
}

TEST(DType, Kinds) {
    for (const DType dtype : {DType::F64, DType::F32, DType::BF16, DType::F16}) {
        EXPECT_TRUE(is_float(dtype));
        EXPECT_FALSE(is_integer(dtype));
    }
    for (const DType dtype : {DType::I64, DType::I32, DType::U8}) {
        EXPECT_TRUE(is_integer(dtype));
        EXPECT_FALSE(is_float(dtype));
    }
    EXPECT_FALSE(is_integer(DType::Bool));
    EXPECT_FALSE(is_float(DType::Q8_0));
}

TEST(DType, VisitorsNameTheOpThatRefuses) {
    const auto ignore = [](auto) {};
    expect_error([&] { visit_float(DType::I64, "thing", ignore); }, {"thing", "i64"});
    expect_error([&] { visit_index(DType::F32, "thing", ignore); }, {"thing", "f32"});
    expect_error([&] { visit_plain(DType::Q8_0, "thing", ignore); }, {"thing", "q8_0"});
}

std::vector<float> decoded(const std::vector<float>& values) {
    const auto blocks = static_cast<std::int64_t>(values.size()) / 32;
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(bytes_of(DType::Q8_0, blocks * 32)));
    std::vector<float> out(values.size());
    const BlockCodec& codec = *info(DType::Q8_0).codec;
    codec.encode(values.data(), bytes.data(), blocks);
    codec.decode(bytes.data(), out.data(), blocks);
    return out;
}

TEST(Q8_0, ErrorIsHalfAStepOfTheBlocksLargest) {
    std::vector<float> values;
    for (std::uint64_t i = 0; i < 32 * 100; ++i)
        values.push_back((uniform(random_bits({.seed = 3}, i)) - 0.5f) * static_cast<float>(1 + i / 32));
    const std::vector<float> out = decoded(values);
    for (std::size_t block = 0; block < values.size(); block += 32) {
        float largest = 0;
        for (std::size_t i = block; i < block + 32; ++i) largest = std::max(largest, std::fabs(values[i]));
        // Half a step, and what rounding the step itself to f16 moves 127 of them.
        for (std::size_t i = block; i < block + 32; ++i)
            EXPECT_NEAR(out[i], values[i], largest / 127 * 0.5f + largest * 0x1p-11f);
    }
}

TEST(Q8_0, WholeStepsComeBackExactly) {
    std::vector<float> values;
    for (int i = 0; i < 32; ++i) values.push_back(static_cast<float>(i == 31 ? 127 : 8 * i - 120) * 0.25f);
    EXPECT_EQ(decoded(values), values);
    EXPECT_EQ(decoded(std::vector<float>(32, 0.0f)), std::vector<float>(32, 0.0f));
    EXPECT_EQ(decoded(decoded(values)), decoded(values));
}

TEST(Q8_0, LayoutIsAnF16ScaleAndSignedBytes) {
    std::vector<float> values(32, 0.0f);
    values[0] = 127.0f;
    values[1] = -127.0f;
    values[2] = 3.0f;
    std::uint8_t bytes[34];
    info(DType::Q8_0).codec->encode(values.data(), bytes, 1);
    EXPECT_EQ(bytes[0] | bytes[1] << 8, Float16(1.0f).bits);
    EXPECT_EQ(static_cast<std::int8_t>(bytes[2]), 127);
    EXPECT_EQ(static_cast<std::int8_t>(bytes[3]), -127);
    EXPECT_EQ(static_cast<std::int8_t>(bytes[4]), 3);
}

}  // namespace
}  // namespace tessera
