#include "tessera/ops/unary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/expect_error.h"
#include "support/op_case.h"
#include "tessera/tensor/tape.h"

namespace tessera {
namespace {

using Op = Tensor (*)(const Tensor&);
constexpr float infinity = std::numeric_limits<float>::infinity();

struct Named {
    const char* name;
    Op op;
    double (*f)(double);
    float low, high;
};
const Named functions[] = {
    {"exp", ops::exp, [](double x) { return std::exp(x); }, -103.9f, 88.7f},
    {"log", ops::log, [](double x) { return std::log(x); }, 1e-41f, 3.0f},
    {"sqrt", ops::sqrt, [](double x) { return std::sqrt(x); }, 0, 1e6f},
    {"tanh", ops::tanh, [](double x) { return std::tanh(x); }, -12, 12},
    {"sigmoid", ops::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -87, 87},
    {"gelu", ops::gelu, [](double x) { return x / 2 * std::erfc(-x * std::sqrt(0.5)); }, -8, 8},
    {"silu", ops::silu, [](double x) { return x / (1 + std::exp(-x)); }, -87, 87},
};

// Element by element, not in the norm: small results count as much as large ones.
TEST(Unary, F32IsRelativelyAccurateEverywhere) {
    for (const Named& function : functions) {
        std::vector<float> points;
        for (int i = 0; i <= 200000; ++i)
            points.push_back(function.low + (function.high - function.low) * static_cast<float>(i) / 200000);
        const auto values = function.op(Tensor::from(points, {200001})).to_vector<float>();
        for (std::size_t i = 0; i < points.size(); ++i) {
            const double expected = function.f(points[i]);
            ASSERT_NEAR(values[i], expected, 2e-6 * std::fabs(expected) + 2e-45)
                << function.name << "(" << points[i] << ")";
        }
    }
}

TEST(Unary, SmallArgumentsKeepTheirDigits) {
    for (const float x : {1e-3f, 1e-6f, 1e-20f, 1e-38f, -1e-6f, 1e-42f}) {
        const Tensor at = Tensor::from<float>({x}, {1});
        EXPECT_NEAR(ops::tanh(at).item(), std::tanh(double{x}), 3e-7 * std::fabs(x)) << x;
        EXPECT_NEAR(ops::gelu(at).item(), x / 2 * (1 + std::erf(double{x} / std::sqrt(2.0))), 3e-7 * std::fabs(x)) << x;
    }
}

// The same in a full vector as in its tail, in every float dtype that holds the value.
TEST(Unary, SpecialValuesAreThoseOfTheStandardLibrary) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float odd_nan = std::nanf("5");  // with more bits than one set in its mantissa
    const std::vector<float> points{0.0f, -0.0f, infinity, -infinity, nan, odd_nan, -1.0f, 1e4f, -1e4f, 3e38f, -3e38f};
    const Named all[] = {
        {"exp", ops::exp, [](double x) { return std::exp(x); }, 0, 0},
        {"log", ops::log, [](double x) { return std::log(x); }, 0, 0},
        {"sqrt", ops::sqrt, [](double x) { return std::sqrt(x); }, 0, 0},
        {"rsqrt", ops::rsqrt, [](double x) { return 1 / std::sqrt(x); }, 0, 0},
        {"tanh", ops::tanh, [](double x) { return std::tanh(x); }, 0, 0},
        {"sigmoid", ops::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 0, 0},
        {"silu", ops::silu, [](double x) { return x / (1 + std::exp(-x)); }, 0, 0},
        {"relu", ops::relu, [](double x) { return x < 0 ? 0 : x; }, 0, 0},
        {"neg", ops::neg, [](double x) { return -x; }, 0, 0},
        {"gelu", ops::gelu, [](double x) { return x / 2 * std::erfc(-x * std::sqrt(0.5)); }, 0, 0},
    };
    for (const Named& function : all)
        for (const float point : points)
            for (const DType dtype : {DType::F64, DType::F32, DType::BF16, DType::F16})
                for (const std::int64_t n : {1, 16, 19}) {
                    const Tensor x = Tensor::full({n}, point, DType::F32).to(dtype);
                    const auto values = function.op(x).to_vector<double>();
                    const double expected = function.f(x.to_vector<double>()[0]);
                    for (const double value : values) {
                        if (std::isnan(expected))
                            ASSERT_TRUE(std::isnan(value)) << function.name << "(" << point << ") is " << value;
                        else if (std::isinf(expected))
                            ASSERT_EQ(value, expected) << function.name << "(" << point << ")";
                        else
                            ASSERT_NEAR(value, dtype == DType::F64 ? expected : static_cast<float>(expected),
                                        1e-2 * std::fabs(expected))
                                << function.name << "(" << point << ") in " << name(dtype);
                    }
                }
}

TEST(Unary, F64AgreesWithTheStandardLibrary) {
    const Tensor x = testing::random_tensor({1000}, 5, 0.01, 20);
    for (const Named& function : functions)
        EXPECT_LE(testing::relative_error(function.op(x), testing::map(x, function.f)), 1e-12) << function.name;
}

TEST(Unary, EmptyTensorsStayEmpty) {
    for (const Named& function : functions)
        EXPECT_EQ(function.op(Tensor::empty({3, 0}, DType::F32)).shape(), (Shape{3, 0})) << function.name;
}

TEST(Unary, ReluHasNoGradientAtZero) {
    Tensor x = Tensor::from<float>({-1, 0, 2}, {3});
    x.set_requires_grad();
    backward({ops::relu(x)}, {Tensor::full({3}, 1)});
    EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{0, 0, 1}));
}

TEST(Unary, BadInputsAreNamed) {
    testing::expect_error([] { ops::exp(Tensor::zeros({2}, DType::I64)); }, {"exp: needs a float dtype, not i64"});
    testing::expect_error([] { ops::soft_cap(Tensor::zeros({2}), 0); }, {"soft_cap: the cap must be positive, not 0"});
    testing::expect_error([] { ops::gelu(Tensor()); }, {"gelu: undefined tensor"});
}

}  // namespace
}  // namespace tessera
