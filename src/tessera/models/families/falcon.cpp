// Falcon (Almazrouei et al. 2023): attention and feed-forward side by side. 7B: one key-value head and one norm for
// both parts. 40B and 180B: grouped heads and two norms. RW: ALiBi instead of rotary positions, parts one after the
// other. Checkpoints keep query, key and value in one matrix, group by group.
#include <cmath>

#include "tessera/models/architecture.h"
#include "tessera/models/context_length.h"
#include "tessera/models/decoder.h"
#include "tessera/models/settings.h"
#include "tessera/nn/attention/dot_product.h"
#include "tessera/nn/norm.h"

namespace tessera::models {
namespace {

struct FalconSettings {
    bool grouped;    // "new decoder architecture": 40B and up
    bool parallel;   // parts side by side
    bool two_norms;  // one for each part
    bool multi_query;
    std::int64_t groups;  // in which the fused matrix alternates query, key, value
};

WeightTable falcon_weights(const FalconSettings& s) {
    const std::string layer = "transformer.h.*.", fused = layer + "self_attention.query_key_value";
    const bool named_by_part = s.grouped && s.two_norms;
    return {.names = {{"tokens", "transformer.word_embeddings"},
                      {"layers.*.attention_norm", layer + (named_by_part ? "ln_attn" : "input_layernorm")},
                      {"layers.*.attention.query", fused, {.part = 0, .groups = s.groups}},
                      {"layers.*.attention.key", fused, {.part = 1, .groups = s.groups}},
                      {"layers.*.attention.value", fused, {.part = 2, .groups = s.groups}},
                      {"layers.*.attention.output", layer + "self_attention.dense"},
                      {"layers.*.feed_forward_norm", layer + (named_by_part ? "ln_mlp" : "post_attention_layernorm")},
                      {"layers.*.feed_forward.up", layer + "mlp.dense_h_to_4h"},
                      {"layers.*.feed_forward.down", layer + "mlp.dense_4h_to_h"},
                      {"final_norm", "transformer.ln_f"},
                      {"head", "lm_head"}},
            .ignored = {"*.rotary_emb.inv_freq", "*.maybe_rotary.inv_freq", "lm_head.weight"}};
}

}  // namespace

static std::unique_ptr<Model> falcon(const Config& config) {
    FalconSettings s{.grouped = config.boolean("new_decoder_architecture", false),
                     .parallel = config.boolean("parallel_attn", true),
                     .two_norms = false,
                     .multi_query = config.boolean("multi_query", true),
                     .groups = 1};
    Heads heads;
    heads.width = read_size(config, "hidden_size", 4544);
    heads.heads = read_count(config, "num_attention_heads", 71);
    heads.kv_heads = s.multi_query ? 1 : heads.heads;
    if (s.grouped) heads.kv_heads = read_count(config, "num_kv_heads", heads.heads);
    heads.head_width = heads.width % heads.heads == 0 ? heads.width / heads.heads : 0;
    check_heads(config, heads, "num_attention_heads", "num_kv_heads");
    s.two_norms = s.grouped ? config.integer("num_ln_in_parallel_attn", 2) == 2 : !s.parallel;
    s.groups = heads.kv_heads;

    const bool alibi = config.boolean("alibi", false), bias = config.boolean("bias", false);
    nn::DotProductSettings attention{.width = heads.width,
                                     .heads = heads.heads,
                                     .kv_heads = heads.kv_heads,
                                     .input_bias = bias,
                                     .output_bias = bias,
                                     .dropout = read_dropout(config, "attention_dropout", 0)};
    if (alibi)  // scaled with the logits, in bf16: so the reference
        attention.alibi = {.factor = 1 / std::sqrt(static_cast<double>(heads.head_width)), .rounded = true};
    else
        attention.rope = read_rope(config, heads.head_width);
    const nn::FeedForwardSettings feed_forward{.width = heads.width,
                                               .hidden = read_size(config, "ffn_hidden_size", 4 * heads.width),
                                               .activation = read_activation(config, "activation", "gelu"),
                                               .has_bias = bias};
    const double eps = read_epsilon(config, "layer_norm_epsilon", 1e-5);
    const auto norm = [&] { return std::make_unique<nn::LayerNorm>(heads.width, eps); };

    DecoderParts parts{.vocabulary = read_size(config, "vocab_size", 65024),
                       .width = heads.width,
                       .context_length = read_context_length(config, alibi ? 0 : 2048),
                       .tied = config.boolean("tie_word_embeddings", true)};
    for (std::int64_t layer = 0; layer < read_count(config, "num_hidden_layers", 32); ++layer) {
        nn::BlockParts block;
        block.attention_norm = norm();
        block.attention = std::make_unique<nn::DotProductAttention>(attention);
        if (s.two_norms) block.feed_forward_norm = norm();
        block.feed_forward = std::make_unique<nn::FeedForward>(feed_forward);
        block.dropout = read_dropout(config, "hidden_dropout", 0);
        if (s.parallel || s.grouped)
            parts.blocks.push_back(std::make_unique<nn::ParallelBlock>(std::move(block)));
        else
            parts.blocks.push_back(std::make_unique<nn::PreNormBlock>(std::move(block)));
    }
    parts.final_norm = norm();
    return std::make_unique<Decoder>(config, std::move(parts), falcon_weights(s));
}

static const RegisterArchitecture register_falcon({"falcon",
                                                   "Almazrouei et al., The Falcon Series of Open Language Models, 2023",
                                                   falcon});

}  // namespace tessera::models
