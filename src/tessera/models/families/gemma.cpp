// Gemma (Gemma Team 2024): Llama with GeGLU, norm weights stored around zero, embeddings times √width, and the
// embedding as output head. Gemma 2 caps logits and logits softly, puts a norm on both sides of every part, and
// alternates windows with full attention. Gemma 3 drops the caps for norms over query and key, and gives window layers
// rotary frequencies of their own.
#include "tessera/models/families/gemma.h"
#include "tessera/models/architecture.h"

#include <cmath>

#include "tessera/models/families/llama.h"

namespace tessera::models {
namespace {

PreNormDecoderSettings read_gemma(const Config& config, PreNormDecoderDefaults defaults) {
    defaults.tied = true;
    defaults.padding_id = 0;
    defaults.activation_field = config.has("hidden_activation") ? "hidden_activation" : "hidden_act";
    defaults.activation = "gelu_pytorch_tanh";
    PreNormDecoderSettings settings = read_pre_norm_decoder(config, defaults);
    settings.norm_weight = nn::NormWeight::OnePlus;
    return settings;
}

// The defaults that Gemma 2 and Gemma 3 share.
PreNormDecoderDefaults second_generation(std::int64_t vocabulary, std::int64_t context_length) {
    return {.vocabulary = vocabulary,
            .width = 2304,
            .layers = 26,
            .heads = 8,
            .kv_heads = 4,
            .head_width = 256,
            .hidden = 9216,
            .context_length = context_length};
}

DecoderParts gemma_decoder(const PreNormDecoderSettings& settings, const MakeBlock& make_block) {
    DecoderParts parts = pre_norm_decoder(settings, make_block);
    parts.embedding_scale = std::sqrt(static_cast<double>(settings.attention.width));
    return parts;
}

std::unique_ptr<nn::Block> sandwich_block(const PreNormDecoderSettings& settings) {
    nn::BlockParts parts;
    parts.attention_norm = decoder_norm(settings);
    parts.attention = std::make_unique<nn::DotProductAttention>(settings.attention);
    parts.after_attention_norm = decoder_norm(settings);
    parts.feed_forward_norm = decoder_norm(settings);
    parts.feed_forward = std::make_unique<nn::FeedForward>(settings.feed_forward);
    parts.after_feed_forward_norm = decoder_norm(settings);
    return std::make_unique<nn::SandwichBlock>(std::move(parts));
}

WeightTable sandwich_weights() {
    WeightTable weights = llama_weights();
    const std::vector<WeightName> norms{
        {"layers.*.after_attention_norm", "model.layers.*.post_attention_layernorm"},
        {"layers.*.feed_forward_norm", "model.layers.*.pre_feedforward_layernorm"},
        {"layers.*.after_feed_forward_norm", "model.layers.*.post_feedforward_layernorm"},
        {"layers.*.attention.query_norm", "model.layers.*.self_attn.q_norm"},
        {"layers.*.attention.key_norm", "model.layers.*.self_attn.k_norm"}};
    weights.names.insert(weights.names.begin(), norms.begin(), norms.end());
    return weights;
}

double query_scale(const Config& config) {
    const double scalar = config.number("query_pre_attn_scalar", 256);
    if (!(scalar > 0)) config.reject("query_pre_attn_scalar", "must be above 0");
    return 1 / std::sqrt(scalar);
}

}  // namespace

std::unique_ptr<Decoder> gemma_decoder(const Config& config) {
    const PreNormDecoderSettings settings = read_gemma(config, {.vocabulary = 256000,
                                                                .width = 3072,
                                                                .layers = 28,
                                                                .heads = 16,
                                                                .kv_heads = 16,
                                                                .head_width = 256,
                                                                .hidden = 24576,
                                                                .context_length = 8192});
    return std::make_unique<Decoder>(
        config, gemma_decoder(settings, [&](std::int64_t) { return pre_norm_block(settings); }), llama_weights());
}

std::unique_ptr<Decoder> gemma2_decoder(const Config& config) {
    PreNormDecoderSettings settings = read_gemma(config, second_generation(256000, 8192));
    settings.attention.scale = query_scale(config);
    settings.attention.soft_cap = read_soft_cap(config, "attn_logit_softcapping", 50);
    const std::int64_t window = config.positive("sliding_window", 4096);
    const std::vector<bool> sliding = read_sliding_layers(config, settings.layers, 2);
    DecoderParts parts = gemma_decoder(settings, [&](std::int64_t layer) {
        PreNormDecoderSettings own = settings;
        own.attention.window = sliding[static_cast<std::size_t>(layer)] ? window : 0;
        return sandwich_block(own);
    });
    parts.logit_soft_cap = read_soft_cap(config, "final_logit_softcapping", 30);
    return std::make_unique<Decoder>(config, std::move(parts), sandwich_weights());
}

static std::unique_ptr<Model> gemma(const Config& config) { return gemma_decoder(config); }
static std::unique_ptr<Model> gemma2(const Config& config) { return gemma2_decoder(config); }

static std::unique_ptr<Model> gemma3_text(const Config& config) {
    PreNormDecoderDefaults defaults = second_generation(262208, 131072);
    defaults.stretch = Stretch::Counted;
    PreNormDecoderSettings settings = read_gemma(config, defaults);
    settings.attention.scale = query_scale(config);
    settings.attention.query_key_norm = true;
    settings.attention.norm_eps = settings.norm_eps;
    settings.attention.norm_weight = settings.norm_weight;
    const std::int64_t head_width = settings.attention.head_width, window = config.positive("sliding_window", 4096);
    const nn::RopeSettings global = read_rope(config, head_width, {.theta = 1e6}, "full_attention");
    nn::RopeSettings local = read_rope(config, head_width, {}, "sliding_attention");
    if (!config.has("rope_parameters"))  // older files: one number, never scaled
        local = read_rope(Config(formats::Json::object(), config.source()), head_width,
                          {.theta = read_theta(config, "rope_local_base_freq", 10000)});
    const std::vector<bool> sliding =
        read_sliding_layers(config, settings.layers, config.positive("sliding_window_pattern", 6));
    DecoderParts parts = gemma_decoder(settings, [&](std::int64_t layer) {
        const bool slides = sliding[static_cast<std::size_t>(layer)];
        PreNormDecoderSettings own = settings;
        own.attention.window = slides ? window : 0;
        own.attention.rope = slides ? local : global;
        return sandwich_block(own);
    });
    parts.logit_soft_cap = read_soft_cap(config, "final_logit_softcapping", 0);
    return std::make_unique<Decoder>(config, std::move(parts), sandwich_weights());
}

static const RegisterArchitecture register_gemma(
    {"gemma", "Gemma Team, Gemma: Open Models Based on Gemini Research and Technology, 2024", gemma});

static const RegisterArchitecture register_gemma2(
    {"gemma2", "Gemma Team, Gemma 2: Improving Open Language Models at a Practical Size, 2024", gemma2});

static const RegisterArchitecture register_gemma3_text({"gemma3_text", "Gemma Team, Gemma 3 Technical Report, 2025",
                                                        gemma3_text});

}  // namespace tessera::models
