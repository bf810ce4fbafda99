// GPT-2 composed from the parts, against what Hugging Face transformers computes: hidden states, logits, loss, every
// gradient, and greedy tokens with and without the cache.
#include <gtest/gtest.h>

#include <map>

#include "support/goldens.h"
#include "support/op_case.h"
#include "tessera/nn/attention/dot_product.h"
#include "tessera/nn/blocks/stack.h"
#include "tessera/nn/embedding.h"
#include "tessera/nn/feed_forward.h"
#include "tessera/nn/norm.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/cross_entropy.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::nn {
namespace {

using testing::Golden;
using testing::relative_error;

constexpr std::int64_t gpt2_width = 48, gpt2_heads = 4, layers = 2, context_length = 64, vocabulary = 211;

struct Gpt2 : Module {
    Gpt2() : tokens(vocabulary, gpt2_width), positions(context_length, gpt2_width) {
        std::vector<std::unique_ptr<Block>> blocks;
        for (int i = 0; i < layers; ++i) {
            BlockParts parts;
            parts.attention = std::make_unique<DotProductAttention>(
                DotProductSettings{.width = gpt2_width, .heads = gpt2_heads, .input_bias = true, .output_bias = true});
            parts.feed_forward = std::make_unique<FeedForward>(
                FeedForwardSettings{.width = gpt2_width, .hidden = 4 * gpt2_width, .activation = Activation::GeluTanh});
            parts.attention_norm = std::make_unique<LayerNorm>(gpt2_width);
            parts.feed_forward_norm = std::make_unique<LayerNorm>(gpt2_width);
            blocks.push_back(std::make_unique<PreNormBlock>(std::move(parts)));
        }
        stack = Stack(std::move(blocks), std::make_unique<LayerNorm>(gpt2_width));
    }

    void visit(const Visitor& visitor) override {
        visitor("tokens", tokens);
        visitor("positions", positions);
        visitor("stack", stack);
    }

    Tensor embed(const Tensor& ids, std::int64_t first) const {
        const std::int64_t count = ids.size(1);
        const Tensor where = ops::slice(Tensor::arange(first + count), 0, first, first + count);
        return ops::add(tokens.forward(ids), positions.forward(where));
    }

    Tensor hidden(const Tensor& ids, StackCache* cache = nullptr, const Stack::Observer& observer = {}) const {
        const std::int64_t seen = cache ? cache->front()->length() : 0;
        return stack.forward(embed(ids, seen), {.mask = ops::AttentionMask::causal()}, cache, observer);
    }

    Embedding tokens, positions;
    Stack stack;
};

// Our name → the checkpoint's tensor: Conv1D weights are stored transposed, and query, key and value in one.
Tensor checkpoint_tensor(const Golden& golden, const std::string& prefix, const std::string& ours) {
    const auto whole = [&](const std::string& name) { return golden[prefix + "transformer." + name]; };
    if (ours == "tokens.weight") return whole("wte.weight");
    if (ours == "positions.weight") return whole("wpe.weight");
    if (ours.starts_with("stack.final_norm.")) return whole("ln_f." + ours.substr(17));
    const std::string layer = "h." + ours.substr(13, 1) + ".";
    const std::string inside = ours.substr(15), kind = inside.substr(inside.rfind('.') + 1);
    const std::string part = inside.substr(0, inside.rfind('.'));
    const auto linear = [&](const std::string& name) {
        const Tensor stored = whole(layer + name + "." + kind);
        return kind == "weight" ? ops::transpose(stored, 0, 1) : stored;
    };
    if (part == "attention_norm") return whole(layer + "ln_1." + kind);
    if (part == "feed_forward_norm") return whole(layer + "ln_2." + kind);
    if (part == "attention.output") return linear("attn.c_proj");
    if (part == "feed_forward.up") return linear("mlp.c_fc");
    if (part == "feed_forward.down") return linear("mlp.c_proj");
    const std::int64_t third = part == "attention.query" ? 0 : part == "attention.key" ? 1 : 2;
    return ops::slice(linear("attn.c_attn"), 0, third * gpt2_width, (third + 1) * gpt2_width);
}

// Query, key and value are compared as the one tensor that the checkpoint has: the key's bias alone has a gradient of
// zero (a softmax does not see a shift of all its scores), and rounding is all there would be to compare.
void expect_gradients_of(Gpt2& model, const Golden& expected) {
    std::map<std::string, std::vector<Tensor>> ours, theirs;
    for (const auto& [name, tensor] : parameters(model)) {
        std::string whole = name;
        for (const std::string part : {".query", ".key", ".value"})
            if (const auto at = whole.find(part); at != std::string::npos)
                whole.replace(at, part.size(), ".query_key_value");
        ours[whole].push_back(tensor->grad());
        theirs[whole].push_back(checkpoint_tensor(expected, "grad.", name));
    }
    for (const auto& [name, gradients] : ours)
        EXPECT_LE(relative_error(ops::concat(gradients, 0), ops::concat(theirs[name], 0)), 1e-4) << name;
}

Gpt2 loaded() {
    const Golden weights("gpt2/model.safetensors");
    Gpt2 model;
    for (const auto& [name, tensor] : parameters(model)) {
        *tensor = checkpoint_tensor(weights, "", name).clone();
        tensor->set_requires_grad();
    }
    return model;
}

TEST(Gpt2Golden, HiddenStatesLogitsLossAndGradients) {
    const Golden expected("gpt2/expected.safetensors");
    Gpt2 model = loaded();
    const Tensor ids = expected["input_ids"];
    EXPECT_LE(relative_error(model.embed(ids, 0), expected["hidden_after_embed"]), 1e-6);
    std::vector<Tensor> after_block;
    const Tensor hidden =
        model.hidden(ids, nullptr, [&](std::size_t, const Tensor& x) { after_block.push_back(x.detach()); });
    EXPECT_LE(relative_error(after_block[0], expected["hidden_after_layer_1"]), 1e-5);
    EXPECT_LE(relative_error(hidden, expected["last_hidden"]), 1e-5);
    const Tensor logits = model.tokens.logits(hidden);
    EXPECT_LE(relative_error(logits, expected["logits"]), 1e-5);

    const std::int64_t count = ids.size(1);
    const Tensor loss = ops::cross_entropy(ops::slice(logits, 1, 0, count - 1), ops::slice(ids, 1, 1, count));
    EXPECT_NEAR(loss.item(), expected["loss"].item(), 1e-5 * expected["loss"].item());
    backward(loss);
    expect_gradients_of(model, expected);
}

TEST(Gpt2Golden, FusedProjectionAndLossGiveTheSameGradients) {
    const Golden expected("gpt2/expected.safetensors");
    Gpt2 model = loaded();
    const Tensor ids = expected["input_ids"];
    const std::int64_t batch = ids.size(0), count = ids.size(1);
    const Tensor hidden =
        ops::reshape(ops::slice(model.hidden(ids), 1, 0, count - 1), {batch * (count - 1), gpt2_width});
    const Tensor targets = ops::reshape(ops::slice(ids, 1, 1, count), {batch * (count - 1)});
    const Tensor loss = ops::linear_cross_entropy(hidden, model.tokens.weight, targets);
    EXPECT_NEAR(loss.item(), expected["loss"].item(), 1e-5 * expected["loss"].item());
    backward(loss);
    expect_gradients_of(model, expected);
}

std::vector<std::int64_t> greedy(const Gpt2& model, Tensor ids, std::int64_t count, bool cached) {
    const NoGrad no_grad;
    StackCache cache = model.stack.make_cache(context_length);
    std::vector<std::int64_t> chosen;
    Tensor input = ids;
    while (static_cast<std::int64_t>(chosen.size()) < count) {
        const Tensor hidden = model.hidden(input, cached ? &cache : nullptr);
        const Tensor last = ops::slice(hidden, 1, hidden.size(1) - 1, hidden.size(1));
        const Tensor next = ops::reshape(ops::argmax(model.tokens.logits(last)), {1, 1});
        chosen.push_back(next.to_vector<std::int64_t>()[0]);
        input = cached ? next : ops::concat({input, next}, 1);
    }
    return chosen;
}

TEST(Gpt2Golden, GreedyTokensWithAndWithoutTheCache) {
    const Golden expected("gpt2/expected.safetensors");
    const Gpt2 model = loaded();
    const std::vector<std::int64_t> tokens = expected["greedy_tokens"].to_vector<std::int64_t>();
    const auto count = static_cast<std::int64_t>(tokens.size());
    EXPECT_EQ(greedy(model, expected["greedy_prompt"], count, true), tokens);
    EXPECT_EQ(greedy(model, expected["greedy_prompt"], count, false), tokens);
}

}  // namespace
}  // namespace tessera::nn
