// Twenty training steps of a small Llama, composed from the parts, against the same twenty steps in torch: losses,
// gradient norms, learning rates and the final weights.
#include <gtest/gtest.h>

#include "support/goldens.h"
#include "support/op_case.h"
#include "tessera/nn/attention/dot_product.h"
#include "tessera/nn/blocks/stack.h"
#include "tessera/nn/embedding.h"
#include "tessera/nn/feed_forward.h"
#include "tessera/nn/norm.h"
#include "tessera/ops/cross_entropy.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"
#include "tessera/training/optimizers/adamw.h"
#include "tessera/training/optimizers/parameter_buffer.h"
#include "tessera/training/optimizers/schedule.h"

namespace tessera::training {
namespace {

using testing::Golden;
using testing::relative_error;

constexpr std::int64_t width = 48, heads = 4, kv_heads = 2, layers = 2, vocabulary = 96, hidden_width = 80;
constexpr double eps = 1e-6;

struct Llama : nn::Module {
    Llama() : tokens(vocabulary, width), head(width, vocabulary, false) {
        std::vector<std::unique_ptr<nn::Block>> blocks;
        for (int i = 0; i < layers; ++i) {
            nn::BlockParts parts;
            parts.attention = std::make_unique<nn::DotProductAttention>(
                nn::DotProductSettings{.width = width,
                                       .heads = heads,
                                       .kv_heads = kv_heads,
                                       .rope = nn::RopeSettings{.rotary_width = width / heads}});
            parts.feed_forward =
                std::make_unique<nn::FeedForward>(nn::FeedForwardSettings{.width = width,
                                                                          .hidden = hidden_width,
                                                                          .activation = nn::Activation::Silu,
                                                                          .gated = true,
                                                                          .has_bias = false});
            parts.attention_norm = std::make_unique<nn::RmsNorm>(width, eps);
            parts.feed_forward_norm = std::make_unique<nn::RmsNorm>(width, eps);
            blocks.push_back(std::make_unique<nn::PreNormBlock>(std::move(parts)));
        }
        stack = nn::Stack(std::move(blocks), std::make_unique<nn::RmsNorm>(width, eps));
    }

    void visit(const nn::Visitor& visitor) override {
        visitor("model.embed_tokens", tokens);
        visitor("model", stack);
        visitor("lm_head", head);
    }

    nn::Embedding tokens;
    nn::Stack stack;
    nn::Linear head;
};

std::string checkpoint_name(std::string ours) {
    const std::pair<std::string, std::string> renames[] = {
        {"feed_forward_norm", "post_attention_layernorm"},
        {"attention_norm", "input_layernorm"},
        {"final_norm", "norm"},
        {"attention.query", "self_attn.q_proj"},
        {"attention.key", "self_attn.k_proj"},
        {"attention.value", "self_attn.v_proj"},
        {"attention.output", "self_attn.o_proj"},
        {"feed_forward.gate", "mlp.gate_proj"},
        {"feed_forward.up", "mlp.up_proj"},
        {"feed_forward.down", "mlp.down_proj"},
    };
    for (const auto& [from, to] : renames)
        if (const auto at = ours.find(from); at != std::string::npos) return ours.replace(at, from.size(), to);
    return ours;
}

void expect_same_curve(bool recompute) {
    const Golden start("training-curve-llama/model.safetensors"), expected("training-curve-llama/expected.safetensors");
    Llama model;
    std::vector<Parameter> trained;
    for (const auto& [name, tensor] : nn::parameters(model)) {
        *tensor = start[checkpoint_name(name)].clone();
        tensor->set_requires_grad();
        trained.push_back({name, *tensor});
    }
    const ParameterBuffer buffer(trained);
    AdamW optimizer(buffer, {.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1});
    const Schedule schedule{
        .kind = ScheduleKind::Cosine, .peak = 0.003, .warmup_steps = 5, .total_steps = 20, .floor_fraction = 0.1};
    const auto losses = expected["losses"].to_vector<double>(), norms = expected["grad_norms"].to_vector<double>(),
               rates = expected["lrs"].to_vector<double>();
    for (std::int64_t step = 0; step < 20; ++step) {
        const auto at = static_cast<std::size_t>(step);
        const Tensor ids = ops::select(expected["data"], 0, step);
        const std::int64_t count = ids.size(1);
        buffer.zero_gradients();
        const nn::Context context{.mask = ops::AttentionMask::causal(), .recompute = recompute};
        const Tensor hidden = model.stack.forward(model.tokens.forward(ids), context);
        const Tensor logits = ops::slice(model.head.forward(hidden), 1, 0, count - 1);
        const Tensor loss = ops::cross_entropy(logits, ops::slice(ids, 1, 1, count));
        backward(loss);
        EXPECT_NEAR(loss.item(), losses[at], 2e-5 * losses[at]) << "step " << step;
        EXPECT_NEAR(buffer.clip_gradients(1.0), norms[at], 2e-4 * norms[at]) << "step " << step;
        EXPECT_NEAR(learning_rate(schedule, step), rates[at], 1e-6 * rates[at]) << "step " << step;
        optimizer.step(rates[at]);
    }
    for (const auto& [name, tensor] : nn::parameters(model))
        EXPECT_LE(relative_error(tensor->detach(), expected["final." + checkpoint_name(name)]), 1e-4) << name;
}

TEST(LlamaCurve, TwentyStepsMatchTheReference) { expect_same_curve(false); }
TEST(LlamaCurve, TwentyStepsMatchTheReferenceWithRecompute) { expect_same_curve(true); }

}  // namespace
}  // namespace tessera::training
