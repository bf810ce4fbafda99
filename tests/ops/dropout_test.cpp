#include "tessera/ops/dropout.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/op_case.h"

namespace tessera::testing {
namespace {

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
    EXPECT_TRUE(same_bits(ops::dropout(x, 0.5, {1, 2}), ops::dropout(x, 0.5, {1, 2})));
    EXPECT_FALSE(same_bits(ops::dropout(x, 0.5, {1, 2}), ops::dropout(x, 0.5, {1, 3})));
    EXPECT_FALSE(same_bits(ops::dropout(x, 0.5, {1, 2}), ops::dropout(x, 0.5, {2, 2})));
}

TEST(Dropout, EdgesOfTheProbability) {
    const Tensor x = Tensor::full({100}, 1);
    EXPECT_EQ(ops::dropout(x, 0, {}).storage(), x.storage());
    EXPECT_EQ(ops::dropout(Tensor::empty({0, 3}), 0.5, {}).shape(), (Shape{0, 3}));
    expect_error([&] { ops::dropout(x, 1, {}); }, {"dropout", "1"});
    expect_error([&] { ops::dropout(x, -0.1, {}); }, {"dropout", "-0.1"});
    expect_error([&] { ops::dropout(Tensor::zeros({2}, DType::I64), 0.1, {}); }, {"dropout", "i64"});
}

}  // namespace
}  // namespace tessera::testing
