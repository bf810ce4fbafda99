// Qwen 2 (2024): Llama with biases on query, key and value. Qwen 3 (2025): none of those, but RMSNorm over each head's
// query and key.
#include "tessera/models/architecture.h"
#include "tessera/models/families/llama.h"

namespace tessera::models {
namespace {

// Layers from max_window_layers on see a window only, where use_sliding_window says so.
std::unique_ptr<Model> qwen(const Config& config, const PreNormDecoderSettings& settings, WeightTable weights) {
    const bool slides = config.boolean("use_sliding_window", false) && !config.is_null("sliding_window");
    const std::int64_t first = config.integer("max_window_layers", 28);
    if (first < 0) config.reject("max_window_layers", text_of("must not be below 0, found ", first));
    std::vector<bool> sliding(static_cast<std::size_t>(settings.layers), false);
    if (slides && config.has("layer_types"))
        sliding = read_sliding_layers(config, settings.layers, 1);
    else if (slides)
        for (std::int64_t layer = first; layer < settings.layers; ++layer)
            sliding[static_cast<std::size_t>(layer)] = true;
    const auto block = [&](std::int64_t layer) {
        PreNormDecoderSettings own = settings;
        if (sliding[static_cast<std::size_t>(layer)]) own.attention.window = config.positive("sliding_window", 4096);
        return pre_norm_block(own);
    };
    return std::make_unique<Decoder>(config, pre_norm_decoder(settings, block), std::move(weights));
}

}  // namespace

static std::unique_ptr<Model> qwen2(const Config& config) {
    PreNormDecoderSettings settings =
        read_pre_norm_decoder(config, {.vocabulary = 151936, .kv_heads = 32, .hidden = 22016, .context_length = 32768});
    settings.attention.input_bias = true;
    settings.attention.output_bias = false;
    return qwen(config, settings, llama_weights());
}

static std::unique_ptr<Model> qwen3(const Config& config) {
    PreNormDecoderSettings settings = read_pre_norm_decoder(
        config, {.vocabulary = 151936, .kv_heads = 32, .head_width = 128, .hidden = 22016, .context_length = 32768});
    settings.attention.query_key_norm = true;
    settings.attention.norm_eps = settings.norm_eps;
    WeightTable weights = llama_weights();
    weights.names.insert(weights.names.end(), {{"layers.*.attention.query_norm", "model.layers.*.self_attn.q_norm"},
                                               {"layers.*.attention.key_norm", "model.layers.*.self_attn.k_norm"}});
    return qwen(config, settings, std::move(weights));
}

static const RegisterArchitecture register_qwen2({"qwen2", "Yang et al., Qwen2 Technical Report, 2024", qwen2});

static const RegisterArchitecture register_qwen3({"qwen3", "Yang et al., Qwen3 Technical Report, 2025", qwen3});

}  // namespace tessera::models
