// The encoder of vision models and of the texts beside them: blocks with LayerNorm before each part, biases everywhere,
// and no mask.
#pragma once

#include "tessera/models/settings.h"
#include "tessera/nn/blocks/stack.h"

namespace tessera::models {

struct PreNormSettings {
    std::int64_t width = 768, heads = 12, hidden = 3072, layers = 12;
    nn::Activation activation = nn::Activation::Gelu;
    double norm_eps = 1e-6;
    bool input_bias = true;  // on query, key and value
    double attention_dropout = 0, dropout = 0;
};

// hidden_size, num_attention_heads, intermediate_size, num_hidden_layers, hidden_act and layer_norm_eps.
PreNormSettings read_pre_norm(const Config& config, const char* activation, double norm_eps);
nn::Stack pre_norm_encoder(const PreNormSettings& settings);

}  // namespace tessera::models
