#include "tessera/ops/views.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/op_case.h"
#include "support/random_view.h"
#include "tessera/tensor/tape.h"

namespace tessera {
namespace {

using testing::expect_error;

Shape random_factoring(testing::Draw& draw, std::int64_t elements) {
    Shape shape;
    while (shape.rank() < 6) {
        std::vector<std::int64_t> divisors;
        for (std::int64_t i = 1; i <= elements; ++i)
            if (elements % i == 0) divisors.push_back(i);
        const std::int64_t chosen =
            divisors[static_cast<std::size_t>(draw(static_cast<std::int64_t>(divisors.size())))];
        shape.push_back(chosen);
        elements /= chosen;
        if (elements == 1 && draw(2)) break;
    }
    if (elements > 1) shape.push_back(elements);
    return shape;
}

// Brute force: is there any choice of strides that gives this shape over the same storage? Each dimension of more than
// one has exactly one candidate, the distance between its elements 0 and 1.
bool is_possible_without_copy(const Tensor& x, const Shape& shape) {
    const auto offset = [&](std::int64_t index) {
        std::int64_t offset = 0;
        for (int i = x.rank() - 1; i >= 0; --i) {
            offset += index % x.size(i) * x.stride(i);
            index /= x.size(i);
        }
        return offset;
    };
    const Shape steps = contiguous_strides(shape);
    for (std::int64_t n = 0; n < x.elements(); ++n) {
        std::int64_t rest = n, strided = 0;
        for (int i = shape.rank() - 1; i >= 0; --i) {
            if (shape[i] > 1) strided += rest % shape[i] * (offset(steps[i]) - offset(0));
            rest /= shape[i];
        }
        if (strided != offset(n)) return false;
    }
    return true;
}

TEST(Reshape, AnyViewToAnyShape) {
    testing::Draw draw(5);
    int views = 0, copies = 0;
    for (int trial = 0; trial < 4000; ++trial) {
        const Tensor x = testing::random_view(draw, {.max_rank = 4, .max_size = 6});
        const Shape shape = random_factoring(draw, x.elements());
        const Tensor out = ops::reshape(x, shape);
        ASSERT_EQ(out.shape(), shape);
        for (std::int64_t i = 0; i < x.elements(); ++i)
            ASSERT_EQ(testing::element(out, i), testing::element(x, i))
                << text_of(x.shape(), " with strides ", x.strides(), " to ", shape);
        const bool shares = out.storage() == x.storage();
        ASSERT_EQ(shares, is_possible_without_copy(x, shape))
            << text_of(x.shape(), " with strides ", x.strides(), " to ", shape);
        ++(shares ? views : copies);
    }
    EXPECT_GT(views, 500);
    EXPECT_GT(copies, 500);
}

TEST(Reshape, FillsInOneUnknownDimension) {
    const Tensor x = Tensor::zeros({4, 6});
    EXPECT_EQ(ops::reshape(x, {3, -1}).shape(), (Shape{3, 8}));
    EXPECT_EQ(ops::reshape(x, {-1}).shape(), (Shape{24}));
    EXPECT_EQ(ops::reshape(Tensor::empty({0, 3}), {-1, 3}).shape(), (Shape{0, 3}));
    EXPECT_EQ(ops::reshape(Tensor::zeros({1}), {}).shape(), Shape{});
    expect_error([&] { ops::reshape(x, {-1, -1}); }, {"reshape", "-1"});
    expect_error([&] { ops::reshape(x, {5, -1}); }, {"reshape", "(4, 6)"});
    expect_error([&] { ops::reshape(x, {5, 5}); }, {"reshape", "(4, 6)", "(5, 5)"});
    expect_error([&] { ops::reshape(x, {-2, -12}); }, {"-2"});
    expect_error([&] { ops::reshape(Tensor::empty({0, 3}), {0, -1}); }, {"reshape", "ambiguous"});
}

TEST(Views, RandomPermutationsSlicesAndExpansions) {
    testing::Draw draw(9);
    for (int trial = 0; trial < 500; ++trial) {
        const Tensor x = testing::random_view(draw);
        const int dim = static_cast<int>(draw(x.rank()));
        const std::int64_t begin = draw(x.size(dim)), end = begin + draw(x.size(dim) - begin + 1), step = 1 + draw(3);
        const Tensor cut = ops::slice(x, dim, begin, end, step);
        const Tensor dense = x.clone(), moved = ops::transpose(cut, dim, -1);
        for (std::int64_t n = 0; n < moved.elements(); ++n) {
            std::int64_t rest = n, place = 0;
            for (int i = x.rank() - 1; i >= 0; --i) {
                const int source = i == x.rank() - 1 ? dim : i == dim ? x.rank() - 1 : i;
                const std::int64_t at = rest % moved.size(i);
                rest /= moved.size(i);
                place += (source == dim ? begin + at * step : at) * dense.stride(source);
            }
            ASSERT_EQ(testing::element(moved, n), dense.data<double>()[place]);
        }
    }
}

TEST(Views, BadInputsAreNamed) {
    const Tensor x = Tensor::zeros({2, 3});
    expect_error([&] { ops::permute(x, {0}); }, {"permute", "(2, 3)"});
    expect_error([&] { ops::permute(x, {0, -2}); }, {"permute", "twice"});
    expect_error([&] { ops::slice(x, 1, 2, 4); }, {"slice", "[2, 4)", "(2, 3)"});
    expect_error([&] { ops::slice(x, 1, 2, 1); }, {"slice", "[2, 1)"});
    expect_error([&] { ops::slice(x, 1, 0, 1, 0); }, {"slice", "step 0"});
    expect_error([&] { ops::select(x, 0, 2); }, {"select", "2", "(2, 3)"});
    expect_error([&] { ops::expand(x, {2, 4}); }, {"expand", "(2, 3)", "(2, 4)"});
    expect_error([&] { ops::expand(x, {3}); }, {"expand", "(2, 3)", "(3)"});
    expect_error([&] { ops::transpose(x, 0, 2); }, {"2", "(2, 3)"});
}

TEST(Views, WritingToAViewWritesToTheTensor) {
    const Tensor x = Tensor::zeros({2, 3});
    ops::select(ops::transpose(x, 0, 1), 0, 1).fill(7);
    EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, 7, 0, 0, 7, 0}));
}

}  // namespace
}  // namespace tessera
