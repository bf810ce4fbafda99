// A Llama's folder as a GGUF file with quantised matrices and without a tokenizer inside. The order of rows, which the
// file has otherwise, does not matter here.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "support/gguf_builder.h"
#include "tessera/formats/checkpoint.h"

namespace tessera::testing {

inline void write_quantised_gguf(const std::filesystem::path& model, const std::filesystem::path& file) {
    const formats::Checkpoint checkpoint = formats::open_checkpoint(model);
    GgufBuilder builder;
    const std::pair<const char*, const char*> sizes[] = {{"embedding_length", "hidden_size"},
                                                         {"feed_forward_length", "intermediate_size"},
                                                         {"block_count", "num_hidden_layers"},
                                                         {"context_length", "max_position_embeddings"},
                                                         {"attention.head_count", "num_attention_heads"},
                                                         {"attention.head_count_kv", "num_key_value_heads"}};
    builder.set("general.architecture", "llama");
    for (const auto& [key, field] : sizes)
        builder.set(text_of("llama.", key), static_cast<std::uint32_t>(checkpoint.config.integer(field)));
    builder.set("llama.attention.layer_norm_rms_epsilon", 1e-6F).set("llama.rope.freq_base", 10000.0F);
    builder.set("tokenizer.ggml.bos_token_id", std::uint32_t{1}).set("tokenizer.ggml.eos_token_id", std::uint32_t{2});
    for (const auto& [name, tensor] : checkpoint.tensors) {
        std::string theirs = name;
        for (const auto& [from, to] : std::map<std::string, std::string>{{"model.layers.", "blk."},
                                                                         {"model.embed_tokens", "token_embd"},
                                                                         {"model.norm", "output_norm"},
                                                                         {"lm_head", "output"},
                                                                         {"input_layernorm", "attn_norm"},
                                                                         {"post_attention_layernorm", "ffn_norm"},
                                                                         {"self_attn.q_proj", "attn_q"},
                                                                         {"self_attn.k_proj", "attn_k"},
                                                                         {"self_attn.v_proj", "attn_v"},
                                                                         {"self_attn.o_proj", "attn_output"},
                                                                         {"mlp.gate_proj", "ffn_gate"},
                                                                         {"mlp.up_proj", "ffn_up"},
                                                                         {"mlp.down_proj", "ffn_down"}})
            if (const auto at = theirs.find(from); at != theirs.npos) theirs.replace(at, from.size(), to);
        builder.tensor(theirs, tensor.rank() == 2 ? tensor.to(DType::Q8_0) : tensor);
    }
    builder.write(file);
}

}  // namespace tessera::testing
