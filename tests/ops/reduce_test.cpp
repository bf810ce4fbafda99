#include "tessera/ops/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/expect_error.h"
#include "support/op_case.h"
#include "support/random_view.h"
#include "tessera/core/parallel.h"
#include "tessera/kernels/reduce.h"
#include "tessera/tensor/tape.h"

namespace tessera {
namespace {

using testing::expect_error;

TEST(Sum, AnyViewAlongAnyDimensions) {
    testing::Draw draw(31);
    for (int trial = 0; trial < 600; ++trial) {
        const Tensor x = testing::random_view(draw, {.max_size = trial % 20 == 0 ? 30 : 7});
        std::vector<int> dims;
        Shape kept = x.shape();
        for (int i = 0; i < x.rank(); ++i) {
            if (draw(2)) continue;
            dims.push_back(i);
            kept[i] = 1;
        }
        if (dims.empty()) kept = Shape::of_rank(x.rank(), 1);
        const Tensor expected = Tensor::zeros(kept, DType::F64);
        for (std::int64_t n = 0; n < x.elements(); ++n) {
            std::int64_t rest = n, place = 0;
            for (int i = x.rank() - 1; i >= 0; --i) {
                if (kept[i] != 1) place += rest % x.size(i) * expected.stride(i);
                rest /= x.size(i);
            }
            expected.data<double>()[place] += testing::element(x, n);
        }
        ASSERT_LE(testing::relative_error(ops::sum(x, dims, true), expected), 1e-13)
            << text_of(x.shape(), " with strides ", x.strides(), " to ", kept);
    }
}

TEST(Sum, WritesIntoStridedResults) {
    const Tensor x = testing::random_tensor({600, 1000}, 4, 0, 1, DType::F32);
    for (const int dim : {0, 1}) {
        Shape shape = x.shape();
        shape[dim] = 1;
        const Tensor expected = ops::sum(x, {dim}, true), out = testing::scrambled_layout(Tensor::zeros(shape));
        kernels::sum.on(cpu)(x.view(), out.view());
        EXPECT_TRUE(testing::same_bits(out, expected)) << dim;
    }
}

TEST(Sum, LongSumsInF32StaySharp) {
    const Tensor x = testing::random_tensor({3'000'001}, 2, 0, 1, DType::F32);
    EXPECT_LE(testing::relative_error(ops::sum(x), ops::sum(x.to(DType::F64))), 1e-7);
    const Tensor many = Tensor::full({1 << 20}, 1, DType::BF16);  // would stop growing at 256 if added in bf16
    EXPECT_EQ(ops::sum(many).item(), 1 << 20);
}

TEST(Sum, OneThreadAndTwoGiveTheSameBits) {
    const int threads = thread_count();
    for (const Shape& shape : {Shape{1'000'003}, Shape{4099, 257}, Shape{3, 400'009}, Shape{2, 1000, 700}}) {
        const Tensor x = testing::random_tensor(shape, 6, -1, 1, DType::F32);
        for (int dim = 0; dim < x.rank(); ++dim) {
            set_thread_count(1);
            const Tensor one = ops::sum(x, {dim});
            set_thread_count(2);
            EXPECT_TRUE(testing::same_bits(one, ops::sum(x, {dim}))) << text_of(shape, " along ", dim);
        }
    }
    set_thread_count(threads);
}

TEST(Sum, OfNothingIsZeroAndTheMeanIsNan) {
    EXPECT_EQ(ops::sum(Tensor::empty({0})).item(), 0);
    EXPECT_EQ(ops::sum(Tensor::empty({3, 0}), {1}).to_vector<float>(), std::vector<float>(3, 0));
    EXPECT_EQ(ops::sum(Tensor::empty({3, 0}), {0}).shape(), (Shape{0}));
    EXPECT_TRUE(std::isnan(ops::mean(Tensor::empty({0})).item()));
}

TEST(Mean, OfF16DoesNotOverflow) { EXPECT_EQ(ops::mean(Tensor::full({1000}, 30000, DType::F16)).item(), 30000); }

TEST(Sum, BadInputsAreNamed) {
    expect_error([] { ops::sum(Tensor::zeros({2, 3}), {0, -2}); }, {"sum", "named twice", "(2, 3)"});
    expect_error([] { ops::sum(Tensor::zeros({2, 3}), {2}); }, {"2", "(2, 3)"});
    expect_error([] { ops::mean(Tensor::zeros({2}, DType::I64)); }, {"mean", "i64"});
}

TEST(Max, GradientGoesToTheFirstMaximum) {
    Tensor x = Tensor::from<float>({1, 5, 5, 2, 7, 7}, {2, 3});
    x.set_requires_grad();
    const Tensor out = ops::max(x, 1);
    EXPECT_EQ(out.to_vector<float>(), (std::vector<float>{5, 7}));
    backward({out}, {Tensor::from<float>({10, 20}, {2})});
    EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{0, 10, 0, 0, 20, 0}));
}

TEST(Max, NanAndInfinities) {
    const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
    const Tensor x = Tensor::from<float>({1, nan, infinity, nan, -infinity, -infinity, -infinity, -infinity}, {2, 4});
    EXPECT_EQ(ops::argmax(x).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0}));
    EXPECT_TRUE(std::isnan(ops::max(x, 1).to_vector<float>()[0]));
    EXPECT_EQ(ops::top_k(x, 4).indices.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 3, 2, 0, 0, 1, 2, 3}));
}

TEST(TopK, EqualValuesComeByRisingIndex) {
    const auto [values, indices] = ops::top_k(Tensor::from<float>({2, 3, 2, 3, 1, 3}, {6}), 5);
    EXPECT_EQ(values.to_vector<float>(), (std::vector<float>{3, 3, 3, 2, 2}));
    EXPECT_EQ(indices.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 3, 5, 0, 2}));
    EXPECT_EQ(ops::top_k(Tensor::zeros({2, 3}), 0).values.shape(), (Shape{2, 0}));
}

TEST(Max, BadInputsAreNamed) {
    expect_error([] { ops::max(Tensor::zeros({2, 0}), 1); }, {"max", "(2, 0)", "empty"});
    expect_error([] { ops::top_k(Tensor::zeros({2, 3}), 4); }, {"top_k", "4", "(2, 3)"});
    expect_error([] { ops::argmax(Tensor::zeros({2}, DType::I32)); }, {"argmax", "i32"});
}

}  // namespace
}  // namespace tessera
