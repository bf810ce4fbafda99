// BART (Lewis et al. 2019): the original Transformer with learned positions, GELU and a norm over the embeddings.
#include "tessera/models/families/bart.h"
#include "tessera/models/architecture.h"

#include <cmath>

#include "tessera/models/settings.h"
#include "tessera/nn/norm.h"

namespace tessera::models {
namespace {

// What the two stacks' fields share but for their names.
struct BartSide {
    nn::DotProductSettings attention;
    nn::FeedForwardSettings feed_forward;
    std::int64_t layers;
};

BartSide read_side(const Config& config, const std::string& side, std::int64_t width) {
    const std::string heads_field = side + "_attention_heads";
    const std::int64_t heads = read_count(config, heads_field, 16);
    if (width % heads != 0)
        config.reject(heads_field, text_of("a width of ", width, " does not split into ", heads, " heads"));
    return {.attention = {.width = width,
                          .heads = heads,
                          .input_bias = true,
                          .output_bias = true,
                          .dropout = read_dropout(config, "attention_dropout", 0)},
            .feed_forward = {.width = width,
                             .hidden = read_size(config, side + "_ffn_dim", 4096),
                             .activation = read_activation(config, "activation_function", "gelu"),
                             .dropout = read_dropout(config, "activation_dropout", 0)},
            .layers = read_count(config, side + "_layers", 12)};
}

}  // namespace

EncoderDecoderParts bart_parts(const Config& config, const BartDefaults& defaults) {
    const std::int64_t width = read_size(config, "d_model", 1024);
    EncoderDecoderParts parts{.vocabulary = read_size(config, "vocab_size", defaults.vocabulary),
                              .width = width,
                              .dropout = read_dropout(config, "dropout", 0.1),
                              .tied = config.boolean("tie_word_embeddings", true),
                              .has_logits_bias = true};
    if (config.boolean("scale_embedding", false)) parts.embedding_scale = std::sqrt(static_cast<double>(width));
    const auto norm = [&] { return std::make_unique<nn::LayerNorm>(width); };
    const BartSide encoder = read_side(config, "encoder", width), decoder = read_side(config, "decoder", width);
    for (std::int64_t layer = 0; layer < encoder.layers; ++layer) {
        nn::BlockParts block;
        block.attention = std::make_unique<nn::DotProductAttention>(encoder.attention);
        block.attention_norm = norm();
        block.feed_forward = std::make_unique<nn::FeedForward>(encoder.feed_forward);
        block.feed_forward_norm = norm();
        block.dropout = parts.dropout;
        parts.encoder_blocks.push_back(std::make_unique<nn::PostNormBlock>(std::move(block)));
    }
    for (std::int64_t layer = 0; layer < decoder.layers; ++layer) {
        nn::CrossBlockParts block;
        block.self_attention = std::make_unique<nn::DotProductAttention>(decoder.attention);
        block.self_attention_norm = norm();
        block.cross_attention = std::make_unique<nn::DotProductAttention>(decoder.attention);
        block.cross_attention_norm = norm();
        block.feed_forward = std::make_unique<nn::FeedForward>(decoder.feed_forward);
        block.feed_forward_norm = norm();
        block.dropout = parts.dropout;
        parts.decoder_blocks.push_back(std::make_unique<nn::CrossBlock>(std::move(block)));
    }
    parts.padding_id = read_token(config, "pad_token_id", defaults.padding_id, parts.vocabulary);
    parts.padding_learns = false;
    parts.decoder_start_id = read_token(config, "decoder_start_token_id", defaults.decoder_start_id, parts.vocabulary);
    return parts;
}

WeightTable bart_weights() {
    WeightTable table{.names = {{"tokens", "model.shared"},
                                {"encoder_input.positions", "model.encoder.embed_positions"},
                                {"encoder_input.norm", "model.encoder.layernorm_embedding"},
                                {"decoder_input.positions", "model.decoder.embed_positions"},
                                {"decoder_input.norm", "model.decoder.layernorm_embedding"},
                                {"head", "lm_head"},
                                {"logits_bias", "final_logits_bias"}},
                      .ignored = {"lm_head.weight"},
                      .aliases = {{"encoder.embed_tokens", "shared"}, {"decoder.embed_tokens", "shared"}},
                      .optional = {"final_logits_bias"},
                      .optional_prefix = "model."};
    const auto add = [&](const std::string& ours, const std::string& theirs) { table.names.push_back({ours, theirs}); };
    const auto add_attention = [&](const std::string& ours, const std::string& theirs) {
        add(ours + ".query", theirs + ".q_proj");
        add(ours + ".key", theirs + ".k_proj");
        add(ours + ".value", theirs + ".v_proj");
        add(ours + ".output", theirs + ".out_proj");
        add(ours + "_norm", theirs + "_layer_norm");
    };
    add_attention("encoder.layers.*.attention", "model.encoder.layers.*.self_attn");
    add_attention("decoder.layers.*.self_attention", "model.decoder.layers.*.self_attn");
    add_attention("decoder.layers.*.cross_attention", "model.decoder.layers.*.encoder_attn");
    for (const std::string side : {"encoder", "decoder"}) {
        add(side + ".layers.*.feed_forward.up", "model." + side + ".layers.*.fc1");
        add(side + ".layers.*.feed_forward.down", "model." + side + ".layers.*.fc2");
        add(side + ".layers.*.feed_forward_norm", "model." + side + ".layers.*.final_layer_norm");
    }
    return table;
}

static std::unique_ptr<Model> bart(const Config& config) {
    EncoderDecoderParts parts = bart_parts(config, {});
    for (InputEmbeddingParts* entrance : {&parts.encoder_input, &parts.decoder_input}) {
        entrance->learned_positions = read_size(config, "max_position_embeddings", 1024);
        entrance->position_offset = 2;  // the table has rows for a padding id that is no longer used
        entrance->norm = std::make_unique<nn::LayerNorm>(parts.width);
    }
    return std::make_unique<EncoderDecoder>(config, std::move(parts), bart_weights());
}

static const RegisterArchitecture register_bart(
    {"bart", "Lewis et al., BART: Denoising Sequence-to-Sequence Pre-training, 2019", bart});

}  // namespace tessera::models
