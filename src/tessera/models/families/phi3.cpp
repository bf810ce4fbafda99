// Phi-3 (Abdin et al. 2024): Llama whose checkpoints keep query, key and value in one matrix, and gate and up in
// another.
#include "tessera/models/architecture.h"
#include "tessera/models/families/llama.h"

namespace tessera::models {

static std::unique_ptr<Model> phi3(const Config& config) {
    PreNormDecoderSettings settings = read_pre_norm_decoder(config, {.vocabulary = 32064,
                                                                     .width = 3072,
                                                                     .hidden = 8192,
                                                                     .norm_eps = 1e-5,
                                                                     .padding_id = 32000,
                                                                     .context_length = 4096});
    settings.attention.window = read_window(config, "sliding_window", 0);
    WeightTable weights = llama_weights();
    const std::string layer = "model.layers.*.";
    const std::vector<WeightName> fused{{"layers.*.attention.query", layer + "self_attn.qkv_proj", {.part = 0}},
                                        {"layers.*.attention.key", layer + "self_attn.qkv_proj", {.part = 1}},
                                        {"layers.*.attention.value", layer + "self_attn.qkv_proj", {.part = 2}},
                                        {"layers.*.feed_forward.gate", layer + "mlp.gate_up_proj", {.part = 0}},
                                        {"layers.*.feed_forward.up", layer + "mlp.gate_up_proj", {.part = 1}}};
    weights.names.insert(weights.names.begin(), fused.begin(), fused.end());  // the first that fits is taken
    return std::make_unique<Decoder>(
        config, pre_norm_decoder(settings, [&](std::int64_t) { return pre_norm_block(settings); }), std::move(weights));
}

static const RegisterArchitecture register_phi3({"phi3", "Abdin et al., Phi-3 Technical Report, 2024", phi3});

}  // namespace tessera::models
