#include "tessera/nn/attention/global_local.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/module_check.h"
#include "support/op_case.h"
#include "tessera/nn/attention/dot_product.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::nn {
namespace {

using testing::expect_error;
using testing::expect_gradients;
using testing::random_tensor;
using testing::randomise;
using testing::relative_error;
using testing::weighted_total;

constexpr GlobalLocalSettings settings{.width = 12, .heads = 3, .window = 4};

// The same projections in plain attention.
DotProductAttention plain(const Linear& query, const Linear& key, const Linear& value, const Linear& output) {
    DotProductAttention made({.width = 12, .heads = 3, .input_bias = true, .output_bias = true});
    const auto copy = [](Linear& to, const Linear& from) {
        to.weight = from.weight.detach();
        to.bias = from.bias.detach();
    };
    copy(made.query, query);
    copy(made.key, key);
    copy(made.value, value);
    copy(made.output, output);
    return made;
}

TEST(GlobalLocalAttention, WithoutGlobalTokensIsASlidingWindow) {
    GlobalLocalAttention attention(settings);
    randomise(attention);
    const Tensor x = random_tensor({2, 11, 12}, 1);
    const DotProductAttention reference = plain(attention.query, attention.key, attention.value, attention.output);
    const Context window{.mask = ops::AttentionMask::bidirectional_sliding(2)};
    EXPECT_LE(relative_error(attention.forward(x, {}), reference.forward(x, window)), 1e-12);
}

TEST(GlobalLocalAttention, AGlobalTokenSeesAllThroughItsOwnProjections) {
    GlobalLocalAttention attention(settings);
    randomise(attention);
    const Tensor x = random_tensor({1, 11, 12}, 2);
    Context context{.global_tokens = Tensor::zeros({1, 11}, DType::Bool)};
    context.global_tokens.data<bool>()[7] = true;
    const DotProductAttention reference =
        plain(attention.global_query, attention.global_key, attention.global_value, attention.output);
    EXPECT_LE(relative_error(ops::slice(attention.forward(x, context), 1, 7, 8),
                             ops::slice(reference.forward(x, {}), 1, 7, 8)),
              1e-12);
    expect_gradients(attention, [&] { return weighted_total(attention.forward(x, context)); });
}

TEST(GlobalLocalAttention, PaddingChangesNothing) {
    GlobalLocalAttention attention(settings);
    randomise(attention);
    const Tensor x = random_tensor({1, 11, 12}, 3);
    Context context{.global_tokens = Tensor::zeros({1, 11}, DType::Bool)};
    context.global_tokens.data<bool>()[0] = true;
    context.mask.lengths = Tensor::from<std::int64_t>({8}, {1});
    const Context alone{.global_tokens = ops::slice(context.global_tokens, 1, 0, 8)};
    EXPECT_LE(relative_error(ops::slice(attention.forward(x, context), 1, 0, 8),
                             attention.forward(ops::slice(x, 1, 0, 8), alone)),
              1e-12);
}

TEST(GlobalLocalAttention, RefusesWhatItCannotDo) {
    GlobalLocalAttention attention(settings);
    randomise(attention);
    const Tensor x = random_tensor({1, 11, 12}, 4);
    Context left;
    left.mask.starts = Tensor::from<std::int64_t>({1}, {1});
    expect_error([&] { attention.forward(x, left); }, {"padding on the right only"});
    expect_error([&] { attention.forward(x, {.mask = ops::AttentionMask::causal()}); }, {"padding on the right only"});
    expect_error([&] { attention.make_cache(8); }, {"no cache"});
    expect_error([] { GlobalLocalAttention({.width = 12, .heads = 5}); }, {"width 12", "5 heads"});
}

}  // namespace
}  // namespace tessera::nn
