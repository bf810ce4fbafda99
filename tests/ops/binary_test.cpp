#include "tessera/ops/binary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/expect_error.h"
#include "support/random_view.h"
#include "tessera/kernels/binary.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera {
namespace {

using testing::expect_error;

TEST(Binary, AnyViews) {
    testing::Draw draw(41);
    for (int trial = 0; trial < 500; ++trial) {
        const Tensor a = testing::random_view(draw, {.max_size = trial % 10 == 0 ? 20 : 6});
        const Tensor b = testing::scrambled_layout(ops::expand(Tensor::scalar(0.5, DType::F64), a.shape()));
        const Tensor out = trial % 2 ? ops::add(a, b) : ops::mul(b, a);
        for (std::int64_t i = 0; i < a.elements(); ++i)
            ASSERT_EQ(testing::element(out, i),
                      trial % 2 ? testing::element(a, i) + 0.5 : testing::element(a, i) * 0.5);
    }
}

// Large results go past the caches, from an aligned start on.
TEST(Binary, LargeAndUnaligned) {
    const std::int64_t count = (5 << 20) + 3;
    const Tensor a = testing::random_tensor({count + 16}, 1, -1, 1, DType::F32);
    const Tensor b = testing::random_tensor({count + 16}, 2, -1, 1, DType::F32);
    for (const std::int64_t shift : {16, 1, 13}) {
        const Tensor left = ops::slice(a, 0, shift, shift + count), right = ops::slice(b, 0, 3, 3 + count);
        const Tensor room = Tensor::full({count + 32}, 9);
        kernels::sub.on(cpu)(left.view(), right.view(), ops::slice(room, 0, shift, shift + count).view());
        const float *x = left.data<float>(), *y = right.data<float>(), *out = room.data<float>();
        ASSERT_EQ(out[shift - 1], 9);
        ASSERT_EQ(out[shift + count], 9);
        for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(out[shift + i], x[i] - y[i]) << i;
        const Tensor scaled = ops::scale(left, 0.25);
        for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(scaled.data<float>()[i], x[i] * 0.25f) << i;
    }
}

TEST(Binary, Integers) {
    for (const DType dtype : {DType::I64, DType::I32}) {
        const Tensor a = Tensor::from<std::int64_t>({7, -7, 5}, {3}).to(dtype);
        const Tensor b = Tensor::from<std::int64_t>({2, 2, 0}, {3}).to(dtype);
        EXPECT_EQ(ops::add(a, b).to_vector<double>(), (std::vector<double>{9, -5, 5}));
        EXPECT_EQ(ops::mul(a, b).to_vector<double>(), (std::vector<double>{14, -14, 0}));
        EXPECT_EQ(ops::sub(a, b).to_vector<double>(), (std::vector<double>{5, -9, 5}));
        EXPECT_EQ(ops::div(a, b).to_vector<double>(), (std::vector<double>{3, -3, 0}));  // by zero: zero
    }
}

TEST(Binary, InfinitiesAndEmptiness) {
    const float infinity = std::numeric_limits<float>::infinity();
    const Tensor x = Tensor::from<float>({1, -1, 0}, {3});
    const auto out = ops::div(x, Tensor::zeros({3})).to_vector<float>();
    EXPECT_EQ(out[0], infinity);
    EXPECT_EQ(out[1], -infinity);
    EXPECT_TRUE(std::isnan(out[2]));
    EXPECT_EQ(ops::add(Tensor::empty({0, 3}), Tensor::zeros({3})).shape(), (Shape{0, 3}));
}

TEST(Binary, OneSidedGradients) {
    struct Sides {
        Tensor (*op)(const Tensor&, const Tensor&);
        float left, right;  // of op(a, 4) and op(4, a) at a = 2
    };
    for (const Sides& sides : {Sides{ops::add, 1, 1}, {ops::sub, 1, -1}, {ops::mul, 4, 4}, {ops::div, 0.25, -1}}) {
        Tensor a = Tensor::full({2, 3}, 2);
        const Tensor b = Tensor::full({3}, 4), ones = Tensor::full({2, 3}, 1);
        a.set_requires_grad();
        backward({sides.op(a, b)}, {ones});
        EXPECT_EQ(a.grad().to_vector<float>(), std::vector<float>(6, sides.left));
        a.set_grad({});
        backward({sides.op(b, a)}, {ones});
        EXPECT_EQ(a.grad().to_vector<float>(), std::vector<float>(6, sides.right));
    }
}

TEST(Binary, BadInputsAreNamed) {
    expect_error([] { ops::add(Tensor::zeros({2, 3}), Tensor::zeros({2})); }, {"add", "(2, 3)", "(2)"});
    expect_error([] { ops::mul(Tensor::zeros({2}), Tensor::zeros({2}, DType::F64)); }, {"mul", "f32", "f64"});
    expect_error([] { ops::div(Tensor::zeros({2}, DType::U8), Tensor::zeros({2}, DType::U8)); }, {"div", "u8"});
}

}  // namespace
}  // namespace tessera
