#include "tessera/models/vision/pre_norm_encoder.h"

#include "tessera/nn/attention/dot_product.h"
#include "tessera/nn/norm.h"

namespace tessera::models {

PreNormSettings read_pre_norm(const Config& config, const char* activation, double norm_eps) {
    const PreNormSettings defaults;
    Heads heads{.width = read_size(config, "hidden_size", defaults.width),
                .heads = read_count(config, "num_attention_heads", defaults.heads)};
    heads.kv_heads = heads.heads;
    heads.head_width = heads.width % heads.heads == 0 ? heads.width / heads.heads : 0;
    check_heads(config, heads, "num_attention_heads", "num_attention_heads");
    return {.width = heads.width,
            .heads = heads.heads,
            .hidden = read_size(config, "intermediate_size", defaults.hidden),
            .layers = read_count(config, "num_hidden_layers", defaults.layers),
            .activation = read_activation(config, "hidden_act", activation),
            .norm_eps = read_epsilon(config, "layer_norm_eps", norm_eps)};
}

nn::Stack pre_norm_encoder(const PreNormSettings& s) {
    const auto norm = [&] { return std::make_unique<nn::LayerNorm>(s.width, s.norm_eps); };
    std::vector<std::unique_ptr<nn::Block>> blocks;
    for (std::int64_t layer = 0; layer < s.layers; ++layer) {
        nn::BlockParts parts;
        parts.attention_norm = norm();
        parts.attention =
            std::make_unique<nn::DotProductAttention>(nn::DotProductSettings{.width = s.width,
                                                                             .heads = s.heads,
                                                                             .input_bias = s.input_bias,
                                                                             .output_bias = true,
                                                                             .dropout = s.attention_dropout});
        parts.feed_forward_norm = norm();
        parts.feed_forward = std::make_unique<nn::FeedForward>(
            nn::FeedForwardSettings{.width = s.width, .hidden = s.hidden, .activation = s.activation});
        parts.dropout = s.dropout;
        blocks.push_back(std::make_unique<nn::PreNormBlock>(std::move(parts)));
    }
    return {std::move(blocks), norm()};
}

}  // namespace tessera::models
