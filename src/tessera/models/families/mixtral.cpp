// Mixtral 8×7B (Jiang et al. 2024): Mistral with eight expert networks per layer, of which a router picks two for each
// token.
#include "tessera/models/architecture.h"
#include "tessera/models/families/llama.h"
#include "tessera/nn/experts.h"

namespace tessera::models {

static std::unique_ptr<Model> mixtral(const Config& config) {
    PreNormDecoderSettings settings = read_pre_norm_decoder(
        config, {.kv_heads = 8, .hidden = 14336, .norm_eps = 1e-5, .rope = {.theta = 1e6}, .context_length = 131072});
    settings.attention.window = read_window(config, "sliding_window", 0);
    const nn::ExpertsSettings experts{
        .width = settings.attention.width,
        .hidden = settings.feed_forward.hidden,
        .experts = read_count(config, "num_local_experts", 8),
        .activation = settings.feed_forward.activation,
        .routing = {.k = read_count(config, "num_experts_per_tok", 2), .normalise = true}};
    if (experts.routing.k > experts.experts)
        config.reject("num_experts_per_tok", text_of(experts.routing.k, " of ", experts.experts, " experts"));
    const auto block = [&](std::int64_t) {
        nn::BlockParts parts;
        parts.attention_norm = decoder_norm(settings);
        parts.attention = std::make_unique<nn::DotProductAttention>(settings.attention);
        parts.feed_forward_norm = decoder_norm(settings);
        parts.feed_forward = std::make_unique<nn::Experts>(experts);
        return std::make_unique<nn::PreNormBlock>(std::move(parts));
    };
    DecoderParts parts = pre_norm_decoder(settings, block);
    if (config.boolean("output_router_logits", false))
        parts.balance.weight = read_loss_weight(config, "router_aux_loss_coef", 0.001);
    WeightTable weights = llama_weights();
    const std::string moe = "model.layers.*.block_sparse_moe.";
    weights.names.insert(weights.names.end(),
                         {{"layers.*.feed_forward.router", moe + "gate"},
                          {"layers.*.feed_forward.experts.gate", moe + "experts.*.w1", {.stacked = true}},
                          {"layers.*.feed_forward.experts.up", moe + "experts.*.w3", {.stacked = true}},
                          {"layers.*.feed_forward.experts.down", moe + "experts.*.w2", {.stacked = true}}});
    return std::make_unique<Decoder>(config, std::move(parts), std::move(weights));
}

static const RegisterArchitecture register_mixtral({"mixtral", "Jiang et al., Mixtral of Experts, 2024", mixtral});

}  // namespace tessera::models
