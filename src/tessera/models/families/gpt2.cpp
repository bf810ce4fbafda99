// GPT-2 (Radford et al. 2019): learned positions, LayerNorm before each part, GELU, the embedding as output head.
// Checkpoints keep matrices as (in, out), and query, key and value in one.
#include <cmath>

#include "tessera/models/architecture.h"
#include "tessera/models/decoder.h"
#include "tessera/models/settings.h"
#include "tessera/nn/attention/dot_product.h"
#include "tessera/nn/norm.h"

namespace tessera::models {
namespace {

WeightTable gpt2_weights() {
    const std::string layer = "transformer.h.*.";
    return {.names = {{"tokens", "transformer.wte"},
                      {"positions", "transformer.wpe"},
                      {"layers.*.attention_norm", layer + "ln_1"},
                      {"layers.*.attention.query", layer + "attn.c_attn", {.transposed = true, .part = 0}},
                      {"layers.*.attention.key", layer + "attn.c_attn", {.transposed = true, .part = 1}},
                      {"layers.*.attention.value", layer + "attn.c_attn", {.transposed = true, .part = 2}},
                      {"layers.*.attention.output", layer + "attn.c_proj", {.transposed = true}},
                      {"layers.*.feed_forward_norm", layer + "ln_2"},
                      {"layers.*.feed_forward.up", layer + "mlp.c_fc", {.transposed = true}},
                      {"layers.*.feed_forward.down", layer + "mlp.c_proj", {.transposed = true}},
                      {"final_norm", "transformer.ln_f"},
                      {"head", "lm_head"}},
            .ignored = {"*.attn.bias", "*.attn.masked_bias", "lm_head.weight"},
            .optional_prefix = "transformer."};
}

}  // namespace

static std::unique_ptr<Model> gpt2(const Config& config) {
    const std::int64_t width = read_size(config, "n_embd", 768), heads = read_count(config, "n_head", 12);
    if (width % heads != 0) config.reject("n_head", text_of(heads, " heads do not divide a width of ", width));
    nn::DotProductSettings attention{.width = width,
                                     .heads = heads,
                                     .input_bias = true,
                                     .output_bias = true,
                                     .dropout = read_dropout(config, "attn_pdrop", 0.1)};
    const nn::FeedForwardSettings feed_forward{
        .width = width,
        .hidden = read_size(config, "n_inner", 4 * width),
        .activation = read_activation(config, "activation_function", "gelu_new")};
    const double eps = read_epsilon(config, "layer_norm_epsilon", 1e-5);

    DecoderParts parts{.vocabulary = read_size(config, "vocab_size", 50257),
                       .width = width,
                       .learned_positions = read_size(config, "n_positions", 1024),
                       .dropout = read_dropout(config, "embd_pdrop", 0.1),
                       .tied = config.boolean("tie_word_embeddings", true)};
    const double scale =
        config.boolean("scale_attn_weights", true) ? 1 / std::sqrt(static_cast<double>(width / heads)) : 1;
    const bool by_layer = config.boolean("scale_attn_by_inverse_layer_idx", false);
    for (std::int64_t layer = 0; layer < read_count(config, "n_layer", 12); ++layer) {
        attention.scale = by_layer ? scale / static_cast<double>(layer + 1) : scale;
        nn::BlockParts block;
        block.attention_norm = std::make_unique<nn::LayerNorm>(width, eps);
        block.attention = std::make_unique<nn::DotProductAttention>(attention);
        block.feed_forward_norm = std::make_unique<nn::LayerNorm>(width, eps);
        block.feed_forward = std::make_unique<nn::FeedForward>(feed_forward);
        block.dropout = read_dropout(config, "resid_pdrop", 0.1);
        parts.blocks.push_back(std::make_unique<nn::PreNormBlock>(std::move(block)));
    }
    parts.final_norm = std::make_unique<nn::LayerNorm>(width, eps);
    const auto layers = static_cast<double>(parts.blocks.size());
    auto model = std::make_unique<Decoder>(config, std::move(parts), gpt2_weights());
    // What is added to the stream begins smaller the more layers add to it.
    const double added = read_init_std(config) / std::sqrt(2 * layers);
    model->init_stds = {{"", "attention.output.weight", added}, {"", "feed_forward.down.weight", added}};
    return model;
}

static const RegisterArchitecture register_gpt2(
    {"gpt2", "Radford et al., Language Models are Unsupervised Multitask Learners, 2019", gpt2});

}  // namespace tessera::models
