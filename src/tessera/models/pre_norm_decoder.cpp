#include "tessera/models/pre_norm_decoder.h"

namespace tessera::models {

PreNormDecoderSettings read_pre_norm_decoder(const Config& config, const PreNormDecoderDefaults& defaults) {
    const Heads heads = read_heads(config, {.width = defaults.width,
                                            .heads = defaults.heads,
                                            .kv_heads = defaults.kv_heads,
                                            .head_width = defaults.head_width});
    const bool attention_bias = config.boolean("attention_bias", false);
    PreNormDecoderSettings s;
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

std::unique_ptr<nn::Norm> decoder_norm(const PreNormDecoderSettings& s) {
    return std::make_unique<nn::RmsNorm>(s.attention.width, s.norm_eps, s.norm_weight);
}

std::unique_ptr<nn::Block> pre_norm_block(const PreNormDecoderSettings& s) {
    nn::BlockParts parts;
    parts.attention_norm = decoder_norm(s);
    parts.attention = std::make_unique<nn::DotProductAttention>(s.attention);
    parts.feed_forward_norm = decoder_norm(s);
    parts.feed_forward = std::make_unique<nn::FeedForward>(s.feed_forward);
    return std::make_unique<nn::PreNormBlock>(std::move(parts));
}

DecoderParts pre_norm_decoder(const PreNormDecoderSettings& s, const MakeBlock& make_block) {
    DecoderParts parts{.vocabulary = s.vocabulary,
                       .padding_id = s.padding_id,
                       .width = s.attention.width,
                       .context_length = s.context_length,
                       .tied = s.tied};
    for (std::int64_t layer = 0; layer < s.layers; ++layer) parts.blocks.push_back(make_block(layer));
    parts.final_norm = decoder_norm(s);
    return parts;
}

}  // namespace tessera::models
