// Llama 1, 2 and 3 (Touvron et al. 2023; Dubey et al. 2024): RMSNorm before each part, rotary positions, SwiGLU, no
// biases; from Llama 2 70B on several queries share a key (GQA), and Llama 3.1 stretches its rotary frequencies.
#include "tessera/models/families/llama.h"
#include "tessera/models/architecture.h"

namespace tessera::models {

WeightTable llama_weights() {
    return {.names = {{"tokens", "model.embed_tokens"},
                      {"layers.*.attention_norm", "model.layers.*.input_layernorm"},
                      {"layers.*.attention.query", "model.layers.*.self_attn.q_proj"},
                      {"layers.*.attention.key", "model.layers.*.self_attn.k_proj"},
                      {"layers.*.attention.value", "model.layers.*.self_attn.v_proj"},
                      {"layers.*.attention.output", "model.layers.*.self_attn.o_proj"},
                      {"layers.*.feed_forward_norm", "model.layers.*.post_attention_layernorm"},
                      {"layers.*.feed_forward.gate", "model.layers.*.mlp.gate_proj"},
                      {"layers.*.feed_forward.up", "model.layers.*.mlp.up_proj"},
                      {"layers.*.feed_forward.down", "model.layers.*.mlp.down_proj"},
                      {"final_norm", "model.norm"},
                      {"head", "lm_head"}},
            .ignored = {"*.rotary_emb.inv_freq", "lm_head.weight"}};
}

static std::unique_ptr<Model> llama(const Config& config) {
    const PreNormDecoderSettings settings = read_pre_norm_decoder(config, {});
    return std::make_unique<Decoder>(
        config, pre_norm_decoder(settings, [&](std::int64_t) { return pre_norm_block(settings); }), llama_weights());
}

static const RegisterArchitecture register_llama(
    {"llama", "Touvron et al., LLaMA: Open and Efficient Foundation Language Models, 2023", llama});

}  // namespace tessera::models
