#include "tessera/models/import/gguf_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "tessera/models/settings.h"
#include "tessera/ops/rope_frequencies.h"

namespace tessera::models {
namespace {

using formats::Gguf;
using formats::Json;

constexpr std::array known_architectures{"llama", "qwen2", "qwen3", "gemma", "gemma2", "gemma3", "phi3"};

std::string architecture_of(const Gguf& gguf) {
    const std::string& name = gguf.text("general.architecture");
    const bool known =
        std::find(known_architectures.begin(), known_architectures.end(), name) != known_architectures.end();
    check(known, gguf.source, ": general.architecture: '", name,
          "' is not known (llama, qwen2, qwen3, gemma, gemma2, gemma3 and phi3 are)");
    return name;
}

// Metadata of the model's own architecture: "llama.embedding_length" and so on.
struct Settings {
    const Gguf& gguf;
    std::string architecture;

    std::string key(const char* name) const { return text_of(architecture, ".", name); }
    bool has(const char* name) const { return gguf.has(key(name)); }
    double number(const char* name) const { return gguf.number(key(name)); }
    std::int64_t integer(const char* name) const { return gguf.integer(key(name)); }
    std::int64_t size(const char* name) const {
        const std::int64_t value = integer(name);
        check(value >= 1 && value < (std::int64_t{1} << 31), gguf.source, ": ", key(name),
              ": expected a positive integer, found ", value);
        return value;
    }
};

std::int64_t head_width(const Settings& s) {
    if (s.has("attention.key_length")) return s.size("attention.key_length");
    const std::int64_t width = s.size("embedding_length"), heads = s.size("attention.head_count");
    check(width % heads == 0, s.gguf.source, ": ", s.key("attention.head_count"), ": a width of ", width,
          " does not split into ", heads, " heads");
    return width / heads;
}

// Mistral and Mixtral go by the name of Llama, and differ in what they have.
std::string model_type(const Settings& s) {
    if (s.architecture == "gemma3") return "gemma3_text";
    if (s.architecture != "llama") return s.architecture;
    if (s.has("expert_count") && s.integer("expert_count") > 0) return "mixtral";
    return s.has("attention.sliding_window") && s.integer("attention.sliding_window") > 0 ? "mistral" : "llama";
}

// Llama 3 stretches frequencies by wavelength; the file keeps only the divisors that came out. All published models
// ramp from 1 to 4 turns over the original length, so that is found by trying powers of two, the usual one first.
Json scaling_from_divisors(const Settings& s, double theta) {
    const Tensor& divisors = s.gguf.tensor("rope_freqs.weight");
    const std::int64_t width = head_width(s);
    check(divisors.dtype() == DType::F32 && divisors.elements() == width / 2, s.gguf.source,
          ": tensor 'rope_freqs.weight': expected ", width / 2, " f32 values, found ", divisors.dtype(), " of ",
          divisors.shape());
    check(width >= 2 && width <= count_limit, s.gguf.source, ": ", s.key("attention.key_length"), ": a head of width ",
          width, " has no positions to turn");
    const std::vector<float> wanted = divisors.to_vector<float>();
    const double factor = *std::max_element(wanted.begin(), wanted.end());
    const std::vector<float> plain = ops::rope_frequencies(width, theta).inverse_frequencies.to_vector<float>();
    const auto explains = [&](std::int64_t length) {
        const ops::RopeScaling scaling{
            .kind = ops::RopeScalingKind::ByWavelength, .factor = factor, .original_length = length};
        const auto scaled = ops::rope_frequencies(width, theta, scaling).inverse_frequencies.to_vector<float>();
        for (std::size_t i = 0; i < plain.size(); ++i)
            if (!(std::fabs(plain[i] / scaled[i] - wanted[i]) <= 1e-4 * wanted[i])) return false;
        return true;
    };
    std::vector<std::int64_t> lengths{8192};
    for (std::int64_t length = 2; length <= (1 << 22); length *= 2) lengths.push_back(length);
    const bool finite = std::isfinite(factor) && factor >= 1;
    const auto found = finite ? std::find_if(lengths.begin(), lengths.end(), explains) : lengths.end();
    check(found != lengths.end(), s.gguf.source, ": tensor 'rope_freqs.weight': no known scaling gives these divisors");
    return Json::object()
        .set("rope_type", "llama3")
        .set("factor", factor)
        .set("low_freq_factor", 1.0)
        .set("high_freq_factor", 4.0)
        .set("original_max_position_embeddings", *found);
}

Json number_list(const Tensor& values) {
    Json list = Json::array();
    for (const double value : values.to_vector<double>()) list.push_back(value);
    return list;
}

Json rope_scaling(const Settings& s, double theta) {
    if (s.gguf.tensors.contains("rope_freqs.weight")) return scaling_from_divisors(s, theta);
    Json rope = Json::object();
    const bool has_factors = s.gguf.tensors.contains("rope_factors_long.weight");
    std::string type = s.gguf.text(s.key("rope.scaling.type"), has_factors ? "longrope" : "none");
    if (type == "none") type = "default";
    rope.set("rope_type", type);
    if (type == "default") return rope;
    const std::int64_t original = s.has("rope.scaling.original_context_length")
                                      ? s.size("rope.scaling.original_context_length")
                                      : s.size("context_length");
    rope.set("original_max_position_embeddings", original);
    if (s.has("rope.scaling.factor"))
        rope.set("factor", s.number("rope.scaling.factor"));
    else
        rope.set("factor", static_cast<double>(s.size("context_length")) / static_cast<double>(original));
    if (has_factors) {
        rope.set("long_factor", number_list(s.gguf.tensor("rope_factors_long.weight")));
        rope.set("short_factor", number_list(s.gguf.tensor("rope_factors_short.weight")));
    }
    for (const auto& [name, hub_name] : {std::pair("rope.scaling.attn_factor", "attention_factor"),
                                         {"rope.scaling.yarn_attn_factor", "attention_factor"},
                                         {"rope.scaling.yarn_beta_fast", "beta_fast"},
                                         {"rope.scaling.yarn_beta_slow", "beta_slow"}})
        if (s.has(name)) rope.set(hub_name, s.number(name));
    return rope;
}

Json rope_parameters(const Settings& s) {
    const double theta = s.has("rope.freq_base")      ? s.number("rope.freq_base")
                         : s.architecture == "gemma3" ? 1e6
                                                      : 10000;
    Json rope = rope_scaling(s, theta);
    rope.set("rope_theta", theta);
    const std::int64_t width = head_width(s);
    if (s.has("rope.dimension_count") && s.size("rope.dimension_count") != width)
        rope.set("partial_rotary_factor",
                 static_cast<double>(s.size("rope.dimension_count")) / static_cast<double>(width));
    return rope;
}

std::int64_t vocabulary(const Gguf& gguf) {
    const Tensor& table = gguf.tensor("token_embd.weight");
    check(table.rank() == 2, gguf.source, ": tensor 'token_embd.weight': expected (vocabulary, width), found ",
          table.shape());
    return table.size(0);
}

// Gemma 2 and 3: caps of scores, their scale, and which frequencies the layers with a window have.
void add_sandwich(const Settings& s, Json& config) {
    const bool third = s.architecture == "gemma3";
    config.set(third ? "hidden_act" : "hidden_activation", "gelu_pytorch_tanh");
    for (const char* cap : {"attn_logit_softcapping", "final_logit_softcapping"})
        if (s.has(cap)) config.set(cap, s.number(cap));
    // The file leaves the scale out: a head's width, except that the 27B models (by their layers) take width / heads.
    const bool is_27b = s.size("block_count") == (third ? 62 : 46);
    config.set("query_pre_attn_scalar",
               is_27b ? s.size("embedding_length") / s.size("attention.head_count") : head_width(s));
    if (!third) return;
    const double local = s.has("rope.freq_base_swa") ? s.number("rope.freq_base_swa") : 10000;
    config.set("rope_parameters",
               Json::object()
                   .set("full_attention", rope_parameters(s))
                   .set("sliding_attention", Json::object().set("rope_type", "default").set("rope_theta", local)));
}

std::optional<std::int64_t> token(const Gguf& gguf, const char* key) {
    return gguf.has(key) ? std::optional(gguf.integer(key)) : std::nullopt;
}

}  // namespace

GgufHeads gguf_heads(const Gguf& gguf) {
    const Settings s{gguf, architecture_of(gguf)};
    const std::int64_t heads = s.size("attention.head_count");
    return {heads, s.has("attention.head_count_kv") ? s.size("attention.head_count_kv") : heads};
}

Json gguf_config(const Gguf& gguf) {
    const Settings s{gguf, architecture_of(gguf)};
    const auto [heads, kv_heads] = gguf_heads(gguf);
    const std::string type = model_type(s);
    const bool is_gemma = s.architecture.starts_with("gemma");
    Json config = gguf_generation_config(gguf);
    config.set("model_type", type)
        .set("hidden_size", s.size("embedding_length"))
        .set("intermediate_size", s.size("feed_forward_length"))
        .set("num_hidden_layers", s.size("block_count"))
        .set("num_attention_heads", heads)
        .set("num_key_value_heads", kv_heads)
        .set("head_dim", head_width(s))
        .set("max_position_embeddings", s.size("context_length"))
        .set("rms_norm_eps", s.number("attention.layer_norm_rms_epsilon"))
        .set("rope_parameters", rope_parameters(s))
        .set("vocab_size", vocabulary(gguf))
        .set("hidden_act", is_gemma ? "gelu_pytorch_tanh" : "silu")
        .set("tie_word_embeddings", !gguf.tensors.contains("output.weight"));
    if (type == "llama")
        config.set("attention_bias", gguf.tensors.contains("blk.0.attn_q.bias"))
            .set("mlp_bias", gguf.tensors.contains("blk.0.ffn_up.bias"));
    if (s.has("attention.sliding_window") && s.integer("attention.sliding_window") > 0 && type != "qwen2" &&
        type != "qwen3")
        config.set("sliding_window", s.size("attention.sliding_window"));
    if (type == "mixtral")
        config.set("num_local_experts", s.size("expert_count")).set("num_experts_per_tok", s.size("expert_used_count"));
    if (type == "gemma2" || type == "gemma3_text") add_sandwich(s, config);
    return config;
}

Json gguf_generation_config(const Gguf& gguf) {
    Json config = Json::object();
    const auto bos = token(gguf, "tokenizer.ggml.bos_token_id"), eos = token(gguf, "tokenizer.ggml.eos_token_id");
    const auto eot = token(gguf, "tokenizer.ggml.eot_token_id"), pad = token(gguf, "tokenizer.ggml.padding_token_id");
    if (bos) config.set("bos_token_id", *bos);
    if (eos && eot && *eos != *eot)
        config.set("eos_token_id", Json::array().push_back(*eos).push_back(*eot));
    else if (eos || eot)
        config.set("eos_token_id", eos ? *eos : *eot);
    if (pad) config.set("pad_token_id", *pad);
    return config;
}

}  // namespace tessera::models
