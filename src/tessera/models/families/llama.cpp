// Llama 1, 2 and 3 (Touvron et al. 2023; Dubey et al. 2024): RMSNorm before each part, rotary positions, SwiGLU, no
// biases; from Llama 2 70B on several queries share a key (GQA), and Llama 3.1 stretches its rotary frequencies.
#include "tessera/models/families/llama.h"
#include "tessera/models/architecture.h"

namespace tessera::models {

LlamaSettings read_llama(const Config& config, const LlamaDefaults& defaults) {
    const Heads heads = read_heads(config, {.width = defaults.width,
                                            .heads = defaults.heads,
                                            .kv_heads = defaults.kv_heads,
                                            .head_width = defaults.head_width});
    const bool attention_bias = config.boolean("attention_bias", false);
    LlamaSettings s;
    s.vocabulary = read_size(config, "vocab_size", defaults.vocabulary);
    s.layers = read_count(config, "num_hidden_layers", defaults.layers);
    s.norm_eps = read_epsilon(config, "rms_norm_eps", defaults.norm_eps);
    s.tied = config.boolean("tie_word_embeddings", defaults.tied);
    s.padding_id = read_padding(config, defaults.padding_id, s.vocabulary);
    s.context_length = read_context_length(config, defaults.context_length, defaults.stretch);
    s.attention = {.width = heads.width,
                   .heads = heads.heads,
                   .kv_heads = heads.kv_heads,
                   .head_width = heads.head_width,
                   .input_bias = attention_bias,
                   .output_bias = attention_bias,
                   .rope = read_rope(config, heads.head_width, defaults.rope),
                   .dropout = read_dropout(config, "attention_dropout", 0)};
    s.feed_forward = {.width = heads.width,
                      .hidden = read_size(config, "intermediate_size", defaults.hidden),
                      .activation = read_activation(config, defaults.activation_field, defaults.activation),
                      .gated = true,
                      .has_bias = config.boolean("mlp_bias", false)};
    return s;
}

std::unique_ptr<nn::Norm> llama_norm(const LlamaSettings& s) {
    return std::make_unique<nn::RmsNorm>(s.attention.width, s.norm_eps, s.norm_weight);
}

std::unique_ptr<nn::Block> llama_block(const LlamaSettings& s) {
    nn::BlockParts parts;
    parts.attention_norm = llama_norm(s);
    parts.attention = std::make_unique<nn::DotProductAttention>(s.attention);
    parts.feed_forward_norm = llama_norm(s);
    parts.feed_forward = std::make_unique<nn::FeedForward>(s.feed_forward);
    return std::make_unique<nn::PreNormBlock>(std::move(parts));
}

DecoderParts llama_decoder(const LlamaSettings& s, const MakeBlock& make_block) {
    DecoderParts parts{.vocabulary = s.vocabulary,
                       .padding_id = s.padding_id,
                       .width = s.attention.width,
                       .context_length = s.context_length,
                       .tied = s.tied};
    for (std::int64_t layer = 0; layer < s.layers; ++layer) parts.blocks.push_back(make_block(layer));
    parts.final_norm = llama_norm(s);
    return parts;
}

WeightTable llama_weights() {
    return {.names = {{"tokens", "model.embed_tokens"},
                      {"layers.*.attention_norm", "model.layers.*.input_layernorm"},
                      {"layers.*.attention.query", "model.layers.*.self_attn.q_proj"},
                      {"layers.*.attention.key", "model.layers.*.self_attn.k_proj"},
                      {"layers.*.attention.value", "model.layers.*.self_attn.v_proj"},
                      {"layers.*.attention.output", "model.layers.*.self_attn.o_proj"},
                      {"layers.*.feed_forward_norm", "model.layers.*.post_attention_layernorm"},
                      {"layers.*.feed_forward.gate", "model.layers.*.mlp.gate_proj"},
                      {"layers.*.feed_forward.up", "model.layers.*.mlp.up_proj"},
                      {"layers.*.feed_forward.down", "model.layers.*.mlp.down_proj"},
                      {"final_norm", "model.norm"},
                      {"head", "lm_head"}},
            .ignored = {"*.rotary_emb.inv_freq", "lm_head.weight"}};
}

static std::unique_ptr<Model> llama(const Config& config) {
    const LlamaSettings settings = read_llama(config, {});
    return std::make_unique<Decoder>(
        config, llama_decoder(settings, [&](std::int64_t) { return llama_block(settings); }), llama_weights());
}

static const RegisterArchitecture register_llama(
    {"llama", "Touvron et al., LLaMA: Open and Efficient Foundation Language Models, 2023", llama});

}  // namespace tessera::models
