// The decoder that most families vary: RMSNorm before each part, rotary positions, a gated feed-forward network.
#pragma once

#include "tessera/models/context_length.h"
#include "tessera/models/decoder.h"
#include "tessera/models/settings.h"
#include "tessera/nn/attention/dot_product.h"
#include "tessera/nn/feed_forward.h"

namespace tessera::models {

struct PreNormDecoderSettings {
    std::int64_t vocabulary = 0, layers = 0;
    nn::DotProductSettings attention = {};
    nn::FeedForwardSettings feed_forward = {};
    double norm_eps = 1e-6;
    nn::NormWeight norm_weight = nn::NormWeight::Plain;
    bool tied = false;
    std::int64_t padding_id = -1;
    std::int64_t context_length = 0;
};

// The defaults of a family's configuration class, used where config.json leaves a field out.
struct PreNormDecoderDefaults {
    std::int64_t vocabulary = 32000, width = 4096, layers = 32, heads = 32, kv_heads = 0, head_width = 0;
    std::int64_t hidden = 11008;
    double norm_eps = 1e-6;
    bool tied = false;
    std::int64_t padding_id = -1;
    RopeDefaults rope = {};
    const char* activation_field = "hidden_act";
    const char* activation = "silu";
    std::int64_t context_length = 2048;
    Stretch stretch = Stretch::ByKind;
};

PreNormDecoderSettings read_pre_norm_decoder(const Config& config, const PreNormDecoderDefaults& defaults);

using MakeBlock = std::function<std::unique_ptr<nn::Block>(std::int64_t layer)>;
std::unique_ptr<nn::Block> pre_norm_block(const PreNormDecoderSettings& settings);
std::unique_ptr<nn::Norm> decoder_norm(const PreNormDecoderSettings& settings);
DecoderParts pre_norm_decoder(const PreNormDecoderSettings& settings, const MakeBlock& make_block);

}  // namespace tessera::models
