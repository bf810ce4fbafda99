#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/expect_error.h"
#include "support/op_case.h"
#include "tessera/ops/cast.h"
#include "tessera/ops/dropout.h"
#include "tessera/ops/operators.h"
#include "tessera/ops/where.h"
#include "tessera/tensor/tape.h"

namespace tessera {
namespace {

using testing::expect_error;

TEST(Where, ChoosesNotMultiplies) {
    const Tensor condition = Tensor::from<float>({1, 0}, {2}).to(DType::Bool);
    Tensor a = Tensor::from<float>({1, std::numeric_limits<float>::quiet_NaN()}, {2});
    a.set_requires_grad();
    const Tensor out = ops::where(condition, a, Tensor::full({2}, 5));
    EXPECT_EQ(out.to_vector<float>(), (std::vector<float>{1, 5}));
    backward({out}, {Tensor::full({2}, 1)});
    EXPECT_EQ(a.grad().to_vector<float>(), (std::vector<float>{1, 0}));
}

TEST(Where, TakesEveryPlainDtype) {
    const Tensor condition = Tensor::from<float>({1, 0, 1}, {3}).to(DType::Bool);
    for (const DType dtype : {DType::F64, DType::F32, DType::BF16, DType::F16, DType::I64, DType::I32, DType::U8}) {
        const Tensor out = ops::where(condition, Tensor::full({3}, 7, dtype), Tensor::full({}, 3, dtype));
        EXPECT_EQ(out.dtype(), dtype);
        EXPECT_EQ(out.to_vector<double>(), (std::vector<double>{7, 3, 7}));
    }
}

TEST(Where, BadInputsAreNamed) {
    const Tensor yes = Tensor::full({2}, 1, DType::Bool), x = Tensor::zeros({2});
    expect_error([&] { ops::where(x, x, x); }, {"where", "bool", "f32"});
    expect_error([&] { ops::where(yes, x, Tensor::zeros({2}, DType::F64)); }, {"where", "f32", "f64"});
    expect_error([&] { ops::where(yes, x, Tensor::zeros({3})); }, {"where", "(2)", "(3)"});
}

TEST(Cast, GradientsReturnInTheirOwnDtype) {
    Tensor x = testing::random_tensor({5}, 1, -1, 1, DType::F32);
    x.set_requires_grad();
    backward({ops::cast(x, DType::BF16)}, {Tensor::full({5}, 2, DType::BF16)});
    EXPECT_EQ(x.grad().dtype(), DType::F32);
    EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(5, 2));
    EXPECT_EQ(ops::cast(x, DType::F32).storage(), x.storage());
}

TEST(Cast, IntegersHaveNoGradient) {
    Tensor x = Tensor::from<float>({1.7f, -2.2f}, {2});
    x.set_requires_grad();
    const Tensor out = ops::cast(x, DType::I64);
    EXPECT_EQ(out.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, -2}));
    EXPECT_FALSE(out.requires_grad());
    expect_error([] { ops::cast(Tensor::zeros({32}), DType::Q8_0); }, {"cast", "f32", "q8_0"});
}

TEST(Dropout, KeepsTheExpectedShareAndTheMean) {
    const Tensor out = ops::dropout(Tensor::full({1000, 1000}, 1), 0.3, {11, 5});
    double kept = 0, sum = 0;
    for (const float value : out.to_vector<float>()) {
        kept += value != 0;
        sum += value;
    }
    EXPECT_NEAR(kept / 1e6, 0.7, 0.002);  // four standard init_stds
    EXPECT_NEAR(sum / 1e6, 1.0, 0.003);
}

TEST(Dropout, TheKeyDecides) {
    const Tensor x = Tensor::full({4096}, 1);
    EXPECT_TRUE(testing::same_bits(ops::dropout(x, 0.5, {1, 2}), ops::dropout(x, 0.5, {1, 2})));
    EXPECT_FALSE(testing::same_bits(ops::dropout(x, 0.5, {1, 2}), ops::dropout(x, 0.5, {1, 3})));
    EXPECT_FALSE(testing::same_bits(ops::dropout(x, 0.5, {1, 2}), ops::dropout(x, 0.5, {2, 2})));
}

TEST(Dropout, EdgesOfTheProbability) {
    const Tensor x = Tensor::full({100}, 1);
    EXPECT_EQ(ops::dropout(x, 0, {}).storage(), x.storage());
    EXPECT_EQ(ops::dropout(Tensor::empty({0, 3}), 0.5, {}).shape(), (Shape{0, 3}));
    expect_error([&] { ops::dropout(x, 1, {}); }, {"dropout", "1"});
    expect_error([&] { ops::dropout(x, -0.1, {}); }, {"dropout", "-0.1"});
    expect_error([&] { ops::dropout(Tensor::zeros({2}, DType::I64), 0.1, {}); }, {"dropout", "i64"});
}

TEST(Operators, ReadAsArithmetic) {
    const Tensor a = Tensor::from<double>({1, 2}, {2}), b = Tensor::from<double>({4, 8}, {2});
    const auto is = [](const Tensor& x, double first, double second) {
        EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{first, second}));
    };
    is(a + b, 5, 10);
    is(a - b, -3, -6);
    is(a * b, 4, 16);
    is(b / a, 4, 4);
    is(-a, -1, -2);
    is(a + 1, 2, 3);
    is(a - 1, 0, 1);
    is(a * 3, 3, 6);
    is(a / 4, 0.25, 0.5);
    is(1 + a, 2, 3);
    is(1 - a, 0, -1);
    is(3 * a, 3, 6);
    is(8 / b, 2, 1);
}

}  // namespace
}  // namespace tessera
