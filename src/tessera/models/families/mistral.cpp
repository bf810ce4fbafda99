// Mistral 7B (Jiang et al. 2023): Llama, except that a token looks at the last `sliding_window` tokens only, so that
// the cache is a ring of that many.
#include "tessera/models/architecture.h"
#include "tessera/models/families/llama.h"

namespace tessera::models {

static std::unique_ptr<Model> mistral(const Config& config) {
    PreNormDecoderSettings settings =
        read_pre_norm_decoder(config, {.kv_heads = 8, .hidden = 14336, .context_length = 131072});
    settings.attention.window = read_window(config, "sliding_window", 4096);
    return std::make_unique<Decoder>(
        config, pre_norm_decoder(settings, [&](std::int64_t) { return pre_norm_block(settings); }), llama_weights());
}

static const RegisterArchitecture register_mistral({"mistral", "Jiang et al., Mistral 7B, 2023", mistral});

}  // namespace tessera::models
