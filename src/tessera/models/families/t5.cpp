// T5 (Raffel et al. 2020): relative positions as a bias that the layers of a stack share, RMSNorm before each part,
// unscaled logits, no biases. Version 1.0 has ReLU and the embedding as output head, behind states scaled by 1/√width;
// 1.1 has gated GELU and mostly a head of its own (Shazeer 2020).
#include <cmath>

#include "tessera/models/architecture.h"
#include "tessera/models/encoder_decoder.h"
#include "tessera/models/settings.h"
#include "tessera/nn/norm.h"

namespace tessera::models {
namespace {

// "relu", or "gated-gelu", which means the tanh form.
nn::FeedForwardSettings read_feed_forward(const Config& config, std::int64_t width, double dropout) {
    const std::string kind = config.text("feed_forward_proj", "relu"), gated = "gated-";
    const bool is_gated = kind.starts_with(gated);
    const std::string activation = is_gated ? kind.substr(gated.size()) : kind;
    return {.width = width,
            .hidden = read_size(config, "d_ff", 2048),
            .activation = kind == "gated-gelu" ? nn::Activation::GeluTanh
                                               : activation_named(config, "feed_forward_proj", activation),
            .gated = is_gated,
            .has_bias = false,
            .dropout = dropout};
}

nn::RelativeBiasSettings read_relative_bias(const Config& config, std::int64_t heads) {
    const nn::RelativeBiasSettings s{.heads = heads,
                                     .buckets = read_count(config, "relative_attention_num_buckets", 32),
                                     .longest_distance = config.positive("relative_attention_max_distance", 128)};
    if (s.buckets < 4)
        config.reject("relative_attention_num_buckets", text_of("must be at least 4, found ", s.buckets));
    if (s.longest_distance <= s.buckets / 2)
        config.reject("relative_attention_max_distance",
                      text_of(s.longest_distance, " leaves nothing to the upper half of ", s.buckets, " buckets"));
    return s;
}

WeightTable t5_weights(bool gated) {
    const std::string up = gated ? ".DenseReluDense.wi_1" : ".DenseReluDense.wi";
    const std::string encoder = "encoder.block.*.layer.", decoder = "decoder.block.*.layer.";
    WeightTable table{
        .names = {{"tokens", "shared"},
                  {"encoder_input.relative_bias", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
                  {"decoder_input.relative_bias", "decoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
                  {"encoder.layers.*.attention_norm", encoder + "0.layer_norm"},
                  {"encoder.layers.*.feed_forward_norm", encoder + "1.layer_norm"},
                  {"encoder.layers.*.feed_forward.gate", encoder + "1.DenseReluDense.wi_0"},
                  {"encoder.layers.*.feed_forward.up", encoder + "1" + up},
                  {"encoder.layers.*.feed_forward.down", encoder + "1.DenseReluDense.wo"},
                  {"encoder.final_norm", "encoder.final_layer_norm"},
                  {"decoder.layers.*.self_attention_norm", decoder + "0.layer_norm"},
                  {"decoder.layers.*.cross_attention_norm", decoder + "1.layer_norm"},
                  {"decoder.layers.*.feed_forward_norm", decoder + "2.layer_norm"},
                  {"decoder.layers.*.feed_forward.gate", decoder + "2.DenseReluDense.wi_0"},
                  {"decoder.layers.*.feed_forward.up", decoder + "2" + up},
                  {"decoder.layers.*.feed_forward.down", decoder + "2.DenseReluDense.wo"},
                  {"decoder.final_norm", "decoder.final_layer_norm"},
                  {"head", "lm_head"}},
        .ignored = {"lm_head.weight", "*.EncDecAttention.relative_attention_bias.weight"},
        .aliases = {{"encoder.embed_tokens", "shared"}, {"decoder.embed_tokens", "shared"}}};
    for (const auto& [ours, theirs] : {std::pair{"query", "q"}, {"key", "k"}, {"value", "v"}, {"output", "o"}}) {
        table.names.push_back(
            {text_of("encoder.layers.*.attention.", ours), text_of(encoder, "0.SelfAttention.", theirs)});
        table.names.push_back(
            {text_of("decoder.layers.*.self_attention.", ours), text_of(decoder, "0.SelfAttention.", theirs)});
        table.names.push_back(
            {text_of("decoder.layers.*.cross_attention.", ours), text_of(decoder, "1.EncDecAttention.", theirs)});
    }
    return table;
}

// Embeddings of length √width per token, and layers that keep the length of what they read. The query takes on the
// factor that other models divide logits by. A head of its own begins as small as the tied one, which is scaled.
std::vector<nn::InitStd::Other> t5_deviations(const Config& config, const nn::DotProductSettings& attention,
                                              std::int64_t hidden) {
    const auto root = [factor = config.number("initializer_factor", 1.0)](std::int64_t size) {
        return factor / std::sqrt(static_cast<double>(size));
    };
    const std::int64_t width = attention.width;
    return {{"", "tokens.weight", root(1)},
            {"", "query.weight", root(width * attention.head_width)},
            {"", "output.weight", root(attention.heads * attention.head_width)},
            {"", "down.weight", root(hidden)},
            {"", ".weight", root(width)}};
}

}  // namespace

static std::unique_ptr<Model> t5(const Config& config) {
    const std::int64_t width = read_size(config, "d_model", 512), heads = read_count(config, "num_heads", 8);
    const std::int64_t layers = read_count(config, "num_layers", 6);
    const double dropout = read_dropout(config, "dropout_rate", 0.1),
                 eps = read_epsilon(config, "layer_norm_epsilon", 1e-6);
    const nn::DotProductSettings attention{
        .width = width, .heads = heads, .head_width = read_count(config, "d_kv", 64), .scale = 1.0, .dropout = dropout};
    const nn::FeedForwardSettings feed_forward = read_feed_forward(config, width, dropout);
    const auto norm = [&] { return std::make_unique<nn::RmsNorm>(width, eps); };

    EncoderDecoderParts parts{.vocabulary = read_size(config, "vocab_size", 32128),
                              .width = width,
                              .dropout = dropout,
                              .drops_outputs = true,
                              .tied = config.boolean("tie_word_embeddings", true)};
    parts.padding_id = read_token(config, "pad_token_id", 0, parts.vocabulary);
    parts.decoder_start_id = read_token(config, "decoder_start_token_id", parts.padding_id, parts.vocabulary);
    if (config.boolean("scale_decoder_outputs", parts.tied))
        parts.head_scale = 1 / std::sqrt(static_cast<double>(width));
    nn::RelativeBiasSettings bias = read_relative_bias(config, heads);
    parts.encoder_input.relative_bias = std::make_unique<nn::RelativeBias>(bias);
    bias.bidirectional = false;
    parts.decoder_input.relative_bias = std::make_unique<nn::RelativeBias>(bias);
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        nn::BlockParts block;
        block.attention_norm = norm();
        block.attention = std::make_unique<nn::DotProductAttention>(attention);
        block.feed_forward_norm = norm();
        block.feed_forward = std::make_unique<nn::FeedForward>(feed_forward);
        block.dropout = dropout;
        parts.encoder_blocks.push_back(std::make_unique<nn::PreNormBlock>(std::move(block)));
    }
    for (std::int64_t layer = 0; layer < read_count(config, "num_decoder_layers", layers); ++layer) {
        nn::CrossBlockParts block;
        block.norms = nn::NormPlacement::Before;
        block.self_attention_norm = norm();
        block.self_attention = std::make_unique<nn::DotProductAttention>(attention);
        block.cross_attention_norm = norm();
        block.cross_attention = std::make_unique<nn::DotProductAttention>(attention);
        block.feed_forward_norm = norm();
        block.feed_forward = std::make_unique<nn::FeedForward>(feed_forward);
        block.dropout = dropout;
        parts.decoder_blocks.push_back(std::make_unique<nn::CrossBlock>(std::move(block)));
    }
    parts.encoder_norm = norm();
    parts.decoder_norm = norm();
    auto model = std::make_unique<EncoderDecoder>(config, std::move(parts), t5_weights(feed_forward.gated));
    model->init_stds = t5_deviations(config, attention, feed_forward.hidden);
    return model;
}

static const RegisterArchitecture register_t5(
    {"t5", "Raffel et al., Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer, 2020",
     t5});

}  // namespace tessera::models
