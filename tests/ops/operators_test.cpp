#include "tessera/ops/operators.h"

#include <gtest/gtest.h>

namespace tessera::testing {
namespace {

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
}  // namespace tessera::testing
