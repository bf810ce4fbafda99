#include "tessera/ops/additive_attention.h"

#include <gtest/gtest.h>

#include "support/goldens.h"
#include "support/op_case.h"
#include "tessera/core/memory.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

TEST(AdditiveAttention, MatchesTheGoldens) {
    const Golden golden("recurrent-and-additive/expected.safetensors");
    const auto leaf = [&](const std::string& name) { return golden["additive." + name].clone().set_requires_grad(); };
    const Tensor query_weight = leaf("W_q"), key_weight = leaf("W_k"), w_v = leaf("w_v");
    const auto [output, weights] = ops::additive_attention(ops::linear(golden["additive.q"], query_weight),
                                                           ops::linear(golden["additive.k"], key_weight), w_v,
                                                           golden["additive.v"], golden["additive.lengths"]);
    EXPECT_LE(relative_error(output, golden["additive.output"]), 1e-6);
    EXPECT_LE(relative_error(weights, golden["additive.weights"]), 1e-6);
    // The goldens' loss weighs the outputs evenly from -1 to 1.
    const std::int64_t count = output.elements();
    const Tensor slope = ops::shift(ops::scale(Tensor::arange(count, DType::F32), 2.0 / double(count - 1)), -1);
    backward({output}, {ops::reshape(slope, output.shape())});
    EXPECT_LE(relative_error(query_weight.grad(), golden["additive.grad.W_q"]), 2e-6);
    EXPECT_LE(relative_error(key_weight.grad(), golden["additive.grad.W_k"]), 2e-6);
    EXPECT_LE(relative_error(w_v.grad(), golden["additive.grad.w_v"]), 2e-6);
}

TEST(AdditiveAttention, KeysPastTheLengthDoNotCount) {
    const Tensor query = random_tensor({2, 3, 8}, 1), key = random_tensor({2, 6, 8}, 2), w_v = random_tensor({8}, 3);
    const Tensor value = random_tensor({2, 6, 4}, 4), lengths = Tensor::from<std::int64_t>({4, 0}, {2});
    const auto masked = ops::additive_attention(query, key, w_v, value, lengths);
    const auto at = [](const Tensor& x, std::int64_t end) { return ops::slice(ops::slice(x, 0, 0, 1), 1, 0, end); };
    const auto shorter = ops::additive_attention(at(query, 3), at(key, 4), w_v, at(value, 4));
    EXPECT_LE(relative_error(at(masked.output, 3), shorter.output), 1e-14);
    EXPECT_EQ(relative_error(ops::slice(masked.weights, 2, 4, 6), Tensor::zeros({2, 3, 2})), 0);
    EXPECT_EQ(relative_error(ops::select(masked.output, 0, 1), Tensor::zeros({3, 4})), 0);
}

TEST(AdditiveAttention, NeverHoldsAllPairsOfFeatures) {
    constexpr std::int64_t batch = 2, length = 64, width = 128;
    Tensor query = random_tensor({batch, length, width}, 1, -1, 1, DType::F32), key = query.clone();
    Tensor w_v = random_tensor({width}, 2, -1, 1, DType::F32);
    for (Tensor* tensor : {&query, &key, &w_v}) tensor->set_requires_grad();
    const std::int64_t before = memory_stats(cpu).bytes_in_use;
    reset_peak(cpu);
    const Tensor output = ops::additive_attention(query, key, w_v, key.detach()).output;
    backward({output}, {Tensor::full(output.shape(), 1)});
    EXPECT_LT(memory_stats(cpu).peak_bytes - before, batch * length * length * width * 4 / 4);
}

TEST(AdditiveAttention, ReportsWhatDoesNotFit) {
    const Tensor query = random_tensor({2, 3, 8}, 1), key = random_tensor({2, 6, 7}, 2), w_v = random_tensor({8}, 3);
    const Tensor value = random_tensor({2, 6, 4}, 4), fitting = random_tensor({2, 6, 8}, 5);
    try {
        ops::additive_attention(query, key, w_v, value);
        FAIL() << "a key of another width was taken";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(),
                     "additive_attention: query (2, 3, 8), key (2, 6, 7), w_v (8) and value (2, 6, 4) do not fit");
    }
    EXPECT_THROW(ops::additive_attention(query, fitting, w_v, value.to(DType::F32)), Error);
    EXPECT_THROW(ops::additive_attention(query, fitting, w_v, value, Tensor::zeros({3}, DType::I64)), Error);
    EXPECT_THROW(ops::additive_attention(query, fitting, w_v, value, Tensor::zeros({2}, DType::I32)), Error);
}

}  // namespace
}  // namespace tessera::testing
