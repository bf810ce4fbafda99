#include "tessera/ops/concat.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/op_case.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

TEST(Concat, BadInputsAreNamed) {
    expect_error([] { ops::concat({}, 0); }, {"concat"});
    expect_error(
        [] {
            ops::concat({Tensor::zeros({2, 3}), Tensor::zeros({3, 3})}, 1);
        },
        {"concat", "(2, 3)", "(3, 3)"});
    expect_error([] { ops::concat({Tensor::zeros({2, 3}), Tensor::zeros({2})}, 1); }, {"concat", "(2, 3)", "(2)"});
    expect_error(
        [] {
            ops::concat({Tensor::zeros({2}), Tensor::zeros({2}, DType::F64)}, 0);
        },
        {"concat", "f32", "f64"});
    expect_error([] { ops::split(Tensor::zeros({2, 3}), {1, 1}, 1); }, {"split", "2", "(2, 3)"});
    expect_error([] { ops::split(Tensor::zeros({2, 3}), {2, 2}, 1); }, {"split", "(2, 3)"});
}

TEST(Split, PiecesAreViewsAndUnusedOnesGetNoGradient) {
    Tensor x = random_tensor({2, 6}, 1, -1, 1, DType::F32);
    x.set_requires_grad();
    const auto pieces = ops::split(x, {1, 3, 2}, -1);
    EXPECT_EQ(pieces[1].storage(), x.storage());
    backward({pieces[1]}, {Tensor::full({2, 3}, 1)});
    EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0}));
}

TEST(Concat, TakesEmptyPartsAndIntegers) {
    const Tensor a = Tensor::arange(3), none = Tensor::empty({0}, DType::I64);
    EXPECT_EQ(ops::concat({none, a, none, a}, 0).to_vector<std::int64_t>(),
              (std::vector<std::int64_t>{0, 1, 2, 0, 1, 2}));
}

}  // namespace
}  // namespace tessera::testing
