#include "tessera/nn/lora.h"

#include <gtest/gtest.h>

#include "support/module_check.h"
#include "support/op_case.h"
#include "tessera/nn/attention/dot_product.h"
#include "tessera/tensor/tape.h"

namespace tessera::nn {
namespace {

using testing::expect_gradients;
using testing::random_tensor;
using testing::randomise;
using testing::relative_error;
using testing::same_bits;
using testing::weighted_total;

const Context causal_context{.mask = ops::AttentionMask::causal()};

TEST(Lora, StartsAsTheModelItself) {
    DotProductAttention module({.width = 12, .heads = 3});
    randomise(module);
    const Tensor x = random_tensor({2, 5, 12}, 1);
    const Tensor before = module.forward(x, causal_context).detach();
    const auto wrapped = attach_lora(module, {"query", "value"}, {.rank = 2, .alpha = 4, .key = {.seed = 3}});
    EXPECT_EQ(wrapped, (std::vector<std::string>{"query", "value"}));
    EXPECT_TRUE(same_bits(module.forward(x, causal_context).detach(), before));
}

TEST(Lora, OnlyTheAdaptersLearn) {
    DotProductAttention module({.width = 12, .heads = 3});
    randomise(module);
    attach_lora(module, {}, {.rank = 2, .alpha = 4});
    int learning = 0;
    for (const auto& [name, tensor] : parameters(module)) {
        EXPECT_EQ(tensor->requires_grad(), name.find("lora_") != std::string::npos) << name;
        learning += tensor->requires_grad();
    }
    EXPECT_EQ(learning, 2 * 4);
    for (Linear* linear : {&module.query, &module.key, &module.value, &module.output}) {
        auto& adapter = static_cast<Lora&>(*linear->adapter);
        adapter.up.copy_from(random_tensor(adapter.up.shape(), 9));
    }
    struct Adapters : Module {
        explicit Adapters(DotProductAttention& m) : module(m) {}
        void visit(const Visitor& visitor) override {
            visitor("query", *module.query.adapter);
            visitor("output", *module.output.adapter);
        }
        DotProductAttention& module;
    } adapters(module);
    const Tensor x = random_tensor({2, 5, 12}, 1);
    expect_gradients(adapters, [&] { return weighted_total(module.forward(x, causal_context)); });
}

TEST(Lora, DropoutIsOfTheAdaptersInputInTrainingAlone) {
    const auto attached = [](double dropout) {
        Linear linear(64, 8, false);
        randomise(linear);
        linear.adapter = std::make_unique<Lora>(linear, LoraSettings{.rank = 4, .alpha = 8, .dropout = dropout},
                                                RandomKey{.seed = 3});
        static_cast<Lora&>(*linear.adapter).up.copy_from(random_tensor({8, 4}, 9));
        return linear;
    };
    const Linear dropping = attached(0.5), plain = attached(0);
    const Tensor x = random_tensor({3, 64}, 1);
    const Context training{.training = true, .key = {.seed = 7}}, other{.training = true, .key = {.seed = 8}};
    EXPECT_TRUE(same_bits(dropping.forward(x).detach(), plain.forward(x).detach()));
    EXPECT_TRUE(same_bits(dropping.forward(x, {.key = {.seed = 7}}).detach(), plain.forward(x).detach()));
    EXPECT_TRUE(same_bits(plain.forward(x, training).detach(), plain.forward(x).detach()));
    const Tensor once = dropping.forward(x, training).detach();
    EXPECT_TRUE(same_bits(dropping.forward(x, training).detach(), once));
    EXPECT_GT(relative_error(dropping.forward(x, other).detach(), once), 1e-3);
    EXPECT_GT(relative_error(once, plain.forward(x).detach()), 1e-3);
    // The layer itself sees all of x: without an adapter's change nothing is dropped.
    const Linear bare = attached(0.5);
    static_cast<Lora&>(*bare.adapter).up.fill(0);
    EXPECT_TRUE(same_bits(bare.forward(x, training).detach(), bare.forward(x).detach()));
}

TEST(Lora, MergedIsAdaptedAndUnmergedIsTheBase) {
    DotProductAttention module({.width = 12, .heads = 3});
    randomise(module);
    const Tensor x = random_tensor({2, 5, 12}, 1);
    const Tensor base_weight = module.query.weight.detach().clone();
    attach_lora(module, {"query"}, {.rank = 3, .alpha = 6});
    auto& adapter = static_cast<Lora&>(*module.query.adapter);
    adapter.up.copy_from(random_tensor(adapter.up.shape(), 9));
    const Tensor adapted = module.forward(x, causal_context).detach();

    add_adapter_to_weight(module.query);
    EXPECT_GT(relative_error(module.query.weight, base_weight), 1e-3);
    subtract_adapter_from_weight(module.query);
    EXPECT_LE(relative_error(module.query.weight, base_weight), 1e-14);

    merge_lora(module);
    EXPECT_EQ(module.query.adapter, nullptr);
    EXPECT_LE(relative_error(module.forward(x, causal_context), adapted), 1e-12);
}

TEST(Lora, ATargetThatNamesNothingIsAnErrorThatListsTheLayers) {
    DotProductAttention module({.width = 12, .heads = 3});
    randomise(module);
    try {
        attach_lora(module, {"qurey"}, {});
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("query, key, value, output"), std::string::npos) << error.what();
    }
    EXPECT_THROW(attach_lora(module, {}, {.rank = 13}), Error);
}

}  // namespace
}  // namespace tessera::nn
