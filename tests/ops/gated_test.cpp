#include "tessera/ops/gated.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/expect_error.h"
#include "support/op_case.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

TEST(Gated, FarGatesPassOrClose) {
    const Tensor gate = Tensor::from<float>({200, -200, 0, 3e38f}, {4}), up = Tensor::from<float>({2, 2, 2, 0.5f}, {4});
    for (const Tensor& y : {ops::swiglu(gate, up), ops::geglu(gate, up, false), ops::geglu(gate, up, true)}) {
        const auto values = y.to_vector<float>();
        EXPECT_FLOAT_EQ(values[0], 400.0f);  // a gate of 1, or a unit in its last place less where vectors are narrow
        EXPECT_EQ(values[1], 0.0f);
        EXPECT_EQ(values[2], 0.0f);
        EXPECT_FLOAT_EQ(values[3], 1.5e38f);
    }
}

TEST(Gated, NaNStaysNaN) {
    const Tensor gate = Tensor::full({19}, std::numeric_limits<float>::quiet_NaN()), up = Tensor::full({19}, 1);
    for (const Tensor& y : {ops::swiglu(gate, up), ops::geglu(gate, up, false), ops::geglu(gate, up, true)})
        for (const float value : y.to_vector<float>()) EXPECT_TRUE(std::isnan(value));
}

// Large results are streamed past the caches, from rows that begin anywhere in a cache line.
TEST(Gated, StreamedResultsAreTheSame) {
    const std::int64_t width = 1031, rows = (std::int64_t{20} << 20) / (4 * width);
    Tensor gate = Tensor::empty({rows, width}), up = Tensor::empty({rows, width});
    const Tensor few = random_tensor({3, width}, 4, -5, 5, DType::F32);
    for (std::int64_t r = 0; r < rows; ++r) {
        std::copy_n(few.data<float>() + r % 3 * width, width, gate.data<float>() + r * width);
        std::copy_n(few.data<float>() + (r + 1) % 3 * width, width, up.data<float>() + r * width);
    }
    gate.set_requires_grad();
    const Tensor y = ops::swiglu(gate, up);
    backward({y}, {up});
    const auto check_periodic = [&](const Tensor& t) {
        for (std::int64_t r = 3; r < rows; ++r)
            ASSERT_TRUE(std::equal(t.data<float>() + r % 3 * width, t.data<float>() + (r % 3 + 1) * width,
                                   t.data<float>() + r * width))
                << r;
    };
    check_periodic(y);
    check_periodic(gate.grad());
}

TEST(Gated, BadInputSaysWhat) {
    const Tensor x = Tensor::empty({4, 7});
    expect_error([&] { ops::swiglu(x, Tensor::empty({7})); }, {"swiglu", "(4, 7)", "(7)"});
    expect_error([&] { ops::geglu(x, Tensor::empty({4, 7}, DType::BF16)); }, {"geglu", "f32", "bf16"});
    expect_error([] { ops::swiglu(Tensor::empty({3}, DType::I64), Tensor::empty({3}, DType::I64)); },
                 {"swiglu", "i64"});
}

}  // namespace
}  // namespace tessera::testing
