// GPT-NeoX and Pythia (Black et al. 2022): attention and feed-forward side by side, a norm for each; rotary positions
// on a quarter of each head. Checkpoints keep query, key and value in one matrix, head by head.
#include "tessera/models/architecture.h"
#include "tessera/models/context_length.h"
#include "tessera/models/decoder.h"
#include "tessera/models/settings.h"
#include "tessera/nn/attention/dot_product.h"
#include "tessera/nn/norm.h"

namespace tessera::models {
namespace {

WeightTable gpt_neox_weights(std::int64_t heads) {
    const std::string layer = "gpt_neox.layers.*.", fused = layer + "attention.query_key_value";
    return {.names = {{"tokens", "gpt_neox.embed_in"},
                      {"layers.*.attention_norm", layer + "input_layernorm"},
                      {"layers.*.attention.query", fused, {.part = 0, .groups = heads}},
                      {"layers.*.attention.key", fused, {.part = 1, .groups = heads}},
                      {"layers.*.attention.value", fused, {.part = 2, .groups = heads}},
                      {"layers.*.attention.output", layer + "attention.dense"},
                      {"layers.*.feed_forward_norm", layer + "post_attention_layernorm"},
                      {"layers.*.feed_forward.up", layer + "mlp.dense_h_to_4h"},
                      {"layers.*.feed_forward.down", layer + "mlp.dense_4h_to_h"},
                      {"final_norm", "gpt_neox.final_layer_norm"},
                      {"head", "embed_out"}},
            .ignored = {"*.attention.bias", "*.attention.masked_bias", "*.rotary_emb.inv_freq", "embed_out.weight"}};
}

}  // namespace

static std::unique_ptr<Model> gpt_neox(const Config& config) {
    const Heads heads = read_heads(config, {.width = 6144, .heads = 64});
    const bool attention_bias = config.boolean("attention_bias", true);
    const double partial = config.number("rotary_pct", 0.25);
    const nn::DotProductSettings attention{
        .width = heads.width,
        .heads = heads.heads,
        .input_bias = attention_bias,
        .output_bias = attention_bias,
        .rope =
            read_rope(config, heads.head_width, {.theta = config.number("rotary_emb_base", 10000), .partial = partial}),
        .dropout = read_dropout(config, "attention_dropout", 0)};
    const nn::FeedForwardSettings feed_forward{.width = heads.width,
                                               .hidden = read_size(config, "intermediate_size", 24576),
                                               .activation = read_activation(config, "hidden_act", "gelu")};
    const double eps = read_epsilon(config, "layer_norm_eps", 1e-5);
    const bool parallel = config.boolean("use_parallel_residual", true);

    DecoderParts parts{.vocabulary = read_size(config, "vocab_size", 50432),
                       .width = heads.width,
                       .context_length = read_context_length(config, 2048),
                       .dropout = read_dropout(config, "hidden_dropout", 0),
                       .tied = config.boolean("tie_word_embeddings", false)};
    for (std::int64_t layer = 0; layer < read_count(config, "num_hidden_layers", 44); ++layer) {
        nn::BlockParts block;
        block.attention_norm = std::make_unique<nn::LayerNorm>(heads.width, eps);
        block.attention = std::make_unique<nn::DotProductAttention>(attention);
        block.feed_forward_norm = std::make_unique<nn::LayerNorm>(heads.width, eps);
        block.feed_forward = std::make_unique<nn::FeedForward>(feed_forward);
        block.dropout = read_dropout(config, "hidden_dropout", 0);
        if (parallel)
            parts.blocks.push_back(std::make_unique<nn::ParallelBlock>(std::move(block)));
        else
            parts.blocks.push_back(std::make_unique<nn::PreNormBlock>(std::move(block)));
    }
    parts.final_norm = std::make_unique<nn::LayerNorm>(heads.width, eps);
    return std::make_unique<Decoder>(config, std::move(parts), gpt_neox_weights(heads.heads));
}

static const RegisterArchitecture register_gpt_neox(
    {"gpt_neox", "Black et al., GPT-NeoX-20B: An Open-Source Autoregressive Language Model, 2022", gpt_neox});

}  // namespace tessera::models
