#include "tessera/core/dtype.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace tessera {
namespace {

using testing::expect_error;

constexpr DType all_dtypes[] = {DType::F64,  DType::F32,  DType::BF16, DType::F16,  DType::I64,  DType::I32,
                                DType::U8,   DType::Bool, DType::Q8_0, DType::Q4_0, DType::Q4_1, DType::Q5_0,
                                DType::Q5_1, DType::Q4_K, DType::Q5_K, DType::Q6_K};

TEST(DType, NamesRoundTrip) {
    for (const DType dtype : all_dtypes) EXPECT_EQ(dtype_from_name(name(dtype)), dtype);
    expect_error([] { dtype_from_name("f12"); }, {"f12"});
}

TEST(DType, SizesAreThoseOfTheTypes) {
    for (const DType dtype : all_dtypes) {
        if (is_quantised(dtype)) continue;
        visit_plain(dtype, "test", [&]<class T>(Type<T>) {
            EXPECT_EQ(dtype_of<T>, dtype);
            EXPECT_EQ(bytes_of(dtype, 3), static_cast<std::int64_t>(3 * sizeof(T)));
        });
    }
    EXPECT_EQ(bytes_of(DType::Q8_0, 64), 68);
    EXPECT_EQ(bytes_of(DType::Q4_0, 64), 36);
    EXPECT_EQ(bytes_of(DType::Q5_1, 64), 48);
    EXPECT_EQ(bytes_of(DType::Q6_K, 512), 420);
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

}  // namespace
}  // namespace tessera
