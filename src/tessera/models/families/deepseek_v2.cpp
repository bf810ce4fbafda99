// DeepSeek-V2 (2024): latent attention, whose cache is one small vector per token, and a mixture of many small experts
// beside some that every token shares. The first layers have a plain feed-forward network. Lite does not compress
// queries; the large one also limits each token to experts of a few groups.
#include <cmath>

#include "tessera/models/architecture.h"
#include "tessera/models/families/llama.h"
#include "tessera/nn/attention/latent.h"
#include "tessera/nn/experts.h"

namespace tessera::models {
namespace {

nn::LatentSettings read_latent(const Config& config) {
    nn::LatentSettings s{.width = read_size(config, "hidden_size", 4096),
                         .heads = read_count(config, "num_attention_heads", 32),
                         .query_latent = read_size_or_none(config, "q_lora_rank", 1536),
                         .latent = read_size(config, "kv_lora_rank", 512),
                         .content_width = read_count(config, "qk_nope_head_dim", 128),
                         .rope_width = read_count(config, "qk_rope_head_dim", 64),
                         .value_width = read_count(config, "v_head_dim", 128),
                         .has_bias = config.boolean("attention_bias", false),
                         .dropout = read_dropout(config, "attention_dropout", 0)};
    s.rope = read_rope(config, s.rope_width);
    s.rope.pairing = ops::RopePairing::Adjacent;
    const ops::RopeScaling& scaling = s.rope.scaling;
    if (scaling.kind == ops::RopeScalingKind::Yarn && scaling.mscale_all_dim != 0) {
        const double magnitude = ops::yarn_magnitude(scaling.factor, scaling.mscale_all_dim);
        s.scale = magnitude * magnitude / std::sqrt(static_cast<double>(s.content_width + s.rope_width));
    }
    return s;
}

std::int64_t read_shared_experts(const Config& config) {
    const std::int64_t count = config.integer("n_shared_experts", 2);
    if (count < 0 || count > count_limit)
        config.reject("n_shared_experts", text_of("expected 0 to ", count_limit, ", found ", count));
    return count;
}

// norm_topk_prob is not read: the reference does not normalise either, and every published model says false.
nn::ExpertsSettings read_experts(const Config& config, std::int64_t width, nn::Activation activation) {
    const std::int64_t hidden = read_size(config, "moe_intermediate_size", 1407);
    nn::ExpertsSettings s{.width = width,
                          .hidden = hidden,
                          .experts = read_count(config, "n_routed_experts", 64),
                          .shared_hidden = hidden * read_shared_experts(config),
                          .activation = activation,
                          .routing = {.k = read_count(config, "num_experts_per_tok", 2),
                                      .scaling = config.number("routed_scaling_factor", 1)}};
    const std::string method = config.text("topk_method", "greedy");
    if (method == "group_limited_greedy") {
        s.routing.groups = read_count(config, "n_group", 1);
        s.routing.top_groups = read_count(config, "topk_group", 1);
    } else if (method != "greedy") {
        config.reject("topk_method", text_of("'", method, "' is not known"));
    }
    if (s.experts % s.routing.groups != 0 || s.routing.top_groups > s.routing.groups)
        config.reject("n_group",
                      text_of(s.experts, " experts, ", s.routing.top_groups, " of ", s.routing.groups, " groups"));
    if (s.routing.k > s.experts / s.routing.groups * s.routing.top_groups)
        config.reject("num_experts_per_tok", text_of(s.routing.k, " of ", s.experts, " experts"));
    return s;
}

WeightTable deepseek_v2_weights() {
    WeightTable weights = llama_weights();
    const std::string attention = "model.layers.*.self_attn.", mlp = "model.layers.*.mlp.";
    weights.names.insert(weights.names.end(),
                         {{"layers.*.attention.query_down", attention + "q_a_proj"},
                          {"layers.*.attention.query_norm", attention + "q_a_layernorm"},
                          {"layers.*.attention.query_up", attention + "q_b_proj"},
                          {"layers.*.attention.latent_down", attention + "kv_a_proj_with_mqa"},
                          {"layers.*.attention.latent_norm", attention + "kv_a_layernorm"},
                          {"layers.*.attention.latent_up", attention + "kv_b_proj"},
                          {"layers.*.feed_forward.router", mlp + "gate"},
                          {"layers.*.feed_forward.experts.gate", mlp + "experts.*.gate_proj", {.stacked = true}},
                          {"layers.*.feed_forward.experts.up", mlp + "experts.*.up_proj", {.stacked = true}},
                          {"layers.*.feed_forward.experts.down", mlp + "experts.*.down_proj", {.stacked = true}},
                          {"layers.*.feed_forward.shared.gate", mlp + "shared_experts.gate_proj"},
                          {"layers.*.feed_forward.shared.up", mlp + "shared_experts.up_proj"},
                          {"layers.*.feed_forward.shared.down", mlp + "shared_experts.down_proj"}});
    return weights;
}

}  // namespace

static std::unique_ptr<Model> deepseek_v2(const Config& config) {
    PreNormDecoderSettings settings;
    settings.vocabulary = read_size(config, "vocab_size", 32000);
    settings.layers = read_count(config, "num_hidden_layers", 32);
    settings.norm_eps = read_epsilon(config, "rms_norm_eps", 1e-6);
    settings.tied = config.boolean("tie_word_embeddings", false);
    settings.padding_id = read_padding(config, -1, settings.vocabulary);
    settings.context_length = read_context_length(config, 2048);
    const nn::LatentSettings attention = read_latent(config);
    settings.attention.width = attention.width;
    settings.feed_forward = {.width = attention.width,
                             .hidden = read_size(config, "intermediate_size", 11008),
                             .activation = read_activation(config, "hidden_act", "silu"),
                             .gated = true,
                             .has_bias = config.boolean("mlp_bias", false)};
    const std::int64_t dense_layers = config.integer("first_k_dense_replace", 0);
    const auto block = [&](std::int64_t layer) {
        nn::BlockParts parts;
        parts.attention_norm = decoder_norm(settings);
        parts.attention = std::make_unique<nn::LatentAttention>(attention);
        parts.feed_forward_norm = decoder_norm(settings);
        if (layer < dense_layers)
            parts.feed_forward = std::make_unique<nn::FeedForward>(settings.feed_forward);
        else
            parts.feed_forward =
                std::make_unique<nn::Experts>(read_experts(config, attention.width, settings.feed_forward.activation));
        return std::make_unique<nn::PreNormBlock>(std::move(parts));
    };
    DecoderParts parts = pre_norm_decoder(settings, block);
    parts.balance = {
        .over = config.boolean("seq_aux", true) ? ExpertBalance::Over::Sequence : ExpertBalance::Over::Layer,
        .weight = read_loss_weight(config, "aux_loss_alpha", 0),
        .only_training = true};
    return std::make_unique<Decoder>(config, std::move(parts), deepseek_v2_weights());
}

static const RegisterArchitecture register_deepseek_v2(
    {"deepseek_v2", "DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts Language Model, 2024",
     deepseek_v2});

}  // namespace tessera::models
