#include "tessera/ops/where.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/expect_error.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

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

}  // namespace
}  // namespace tessera::testing
