// PaLM (Chowdhery et al. 2022): attention and SwiGLU side by side under one norm, all queries share one key and value
// (MQA), rotary positions on adjacent pairs, shared embeddings, no biases anywhere. The paper published no checkpoint;
// the configuration's fields are ours, under the Hub's usual names.
#include "tessera/models/architecture.h"
#include "tessera/models/context_length.h"
#include "tessera/models/decoder.h"
#include "tessera/models/settings.h"
#include "tessera/nn/attention/dot_product.h"
#include "tessera/nn/norm.h"

namespace tessera::models {
namespace {

WeightTable palm_weights() {
    return {.names = {{"tokens.weight", "embed"},
                      {"layers.*.attention_norm.weight", "l*.norm"},
                      {"layers.*.attention.query.weight", "l*.wq"},
                      {"layers.*.attention.key.weight", "l*.wk"},
                      {"layers.*.attention.value.weight", "l*.wv"},
                      {"layers.*.attention.output.weight", "l*.wo"},
                      {"layers.*.feed_forward.gate.weight", "l*.w_gate"},
                      {"layers.*.feed_forward.up.weight", "l*.w_up"},
                      {"layers.*.feed_forward.down.weight", "l*.w_down"},
                      {"final_norm.weight", "norm_f"}}};
}

}  // namespace

static std::unique_ptr<Model> palm(const Config& config) {
    const Heads heads = read_heads(config, {.width = 4096, .heads = 16, .kv_heads = 1});
    nn::RopeSettings rope = read_rope(config, heads.head_width);
    rope.pairing = ops::RopePairing::Adjacent;
    const nn::DotProductSettings attention{.width = heads.width,
                                           .heads = heads.heads,
                                           .kv_heads = heads.kv_heads,
                                           .head_width = heads.head_width,
                                           .rope = rope};
    const nn::FeedForwardSettings feed_forward{.width = heads.width,
                                               .hidden = read_size(config, "intermediate_size", 4 * heads.width),
                                               .activation = nn::Activation::Silu,
                                               .gated = true,
                                               .has_bias = false};
    const auto norm = [&] {
        return std::make_unique<nn::LayerNorm>(heads.width, read_epsilon(config, "layer_norm_eps", 1e-5), false);
    };
    DecoderParts parts{.vocabulary = read_size(config, "vocab_size", 256000),
                       .width = heads.width,
                       .context_length = read_context_length(config, 0),
                       .tied = true};
    for (std::int64_t layer = 0; layer < read_count(config, "num_hidden_layers", 32); ++layer) {
        nn::BlockParts block;
        block.attention_norm = norm();
        block.attention = std::make_unique<nn::DotProductAttention>(attention);
        block.feed_forward = std::make_unique<nn::FeedForward>(feed_forward);
        parts.blocks.push_back(std::make_unique<nn::ParallelBlock>(std::move(block)));
    }
    parts.final_norm = norm();
    return std::make_unique<Decoder>(config, std::move(parts), palm_weights());
}

static const RegisterArchitecture register_palm(
    {"palm", "Chowdhery et al., PaLM: Scaling Language Modeling with Pathways, 2022", palm});

}  // namespace tessera::models
