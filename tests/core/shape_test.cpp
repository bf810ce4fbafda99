#include "tessera/core/shape.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace tessera {
namespace {

using testing::expect_error;

TEST(Shape, CountsAndPrints) {
    EXPECT_EQ((Shape{2, 3, 4}).elements(), 24);
    EXPECT_EQ((Shape{2, 0, 4}).elements(), 0);
    EXPECT_EQ(Shape{}.elements(), 1);
    EXPECT_EQ(text_of(Shape{2, 3}), "(2, 3)");
    EXPECT_EQ(text_of(Shape{}), "()");
    EXPECT_EQ(contiguous_strides({2, 3, 4}), (Shape{12, 4, 1}));
}

TEST(Shape, NegativeDimensionsCountFromTheEnd) {
    const Shape shape{2, 3, 4};
    EXPECT_EQ(shape.at(-1), 4);
    EXPECT_EQ(shape.at(0), 2);
    EXPECT_EQ(shape.wrap(-3), 0);
    expect_error([&] { shape.at(3); }, {"3", "(2, 3, 4)"});
    expect_error([&] { shape.at(-4); }, {"-4", "(2, 3, 4)"});
    expect_error([] { Shape{}.at(0); }, {"0", "()"});
}

TEST(Shape, RefusesWhatCannotBe) {
    expect_error([] { Shape({2, -1}).elements(); }, {"negative", "(2, -1)"});
    expect_error([] { Shape({std::int64_t{1} << 40, std::int64_t{1} << 40}).elements(); }, {"too many elements"});
    expect_error([] { Shape::of_rank(9); }, {"8"});
}

TEST(Shape, EqualityLooksAtRankAndDims) {
    EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
    EXPECT_FALSE((Shape{2, 3}) == (Shape{2, 3, 1}));
    EXPECT_FALSE((Shape{2, 3}) == (Shape{3, 2}));
}

TEST(Broadcast, AlignsTrailingDimensions) {
    EXPECT_EQ(broadcast({4, 1, 7}, {3, 1}, "x"), (Shape{4, 3, 7}));
    EXPECT_EQ(broadcast({}, {2, 3}, "x"), (Shape{2, 3}));
    EXPECT_EQ(broadcast({1}, {0}, "x"), (Shape{0}));
    EXPECT_EQ(broadcast({5, 0}, {5, 1}, "x"), (Shape{5, 0}));
    expect_error([] { broadcast({2, 3}, {2}, "op"); }, {"op", "(2, 3)", "(2)"});
    expect_error([] { broadcast({0}, {2}, "op"); }, {"op", "(0)", "(2)"});
}

}  // namespace
}  // namespace tessera
