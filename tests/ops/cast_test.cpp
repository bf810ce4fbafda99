#include "tessera/ops/cast.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/op_case.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

TEST(Cast, GradientsReturnInTheirOwnDtype) {
    Tensor x = random_tensor({5}, 1, -1, 1, DType::F32);
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

}  // namespace
}  // namespace tessera::testing
