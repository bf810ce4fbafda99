// A leaf's gradient is its own: no other leaf, and nobody outside, sees it change.
#include <gtest/gtest.h>

#include "tessera/ops/binary.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera {
namespace {

Tensor leaf(double value) {
    Tensor x = Tensor::full({3}, value);
    x.set_requires_grad();
    return x;
}

TEST(Gradients, OfTwoLeavesOfOneOpAreSeparate) {
    const Tensor a = leaf(1), b = leaf(2);
    backward({ops::scale(ops::add(a, b), 1)}, {Tensor::full({3}, 1)});
    backward({ops::scale(a, 5)}, {Tensor::full({3}, 1)});
    EXPECT_EQ(a.grad().to_vector<float>(), std::vector<float>(3, 6));
    EXPECT_EQ(b.grad().to_vector<float>(), std::vector<float>(3, 1));
}

TEST(Gradients, DoNotWriteIntoTheCallersTensor) {
    const Tensor a = leaf(1);
    const Gradients given{Tensor::full({3, 1}, 1)};
    backward({ops::reshape(a, {3, 1})}, given);
    backward({ops::scale(a, 5)}, {Tensor::full({3}, 1)});
    EXPECT_EQ(a.grad().to_vector<float>(), std::vector<float>(3, 6));
    EXPECT_EQ(given[0].to_vector<float>(), std::vector<float>(3, 1));
}

}  // namespace
}  // namespace tessera
