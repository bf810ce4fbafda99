#include "models/settings.h"

#include <algorithm>
#include <map>

#include "core/error.h"

namespace tessera::models {

void check_heads(const Config& config, const Heads& heads, const char* heads_field, const char* kv_heads_field) {
    if (heads.heads % heads.kv_heads != 0)
        config.reject(kv_heads_field, text_of(heads.heads, " heads cannot share ", heads.kv_heads, " key-value heads"));
    if (heads.head_width == 0)
        config.reject(heads_field, text_of("a width of ", heads.width, " does not split into ", heads.heads, " heads"));
}

Heads read_heads(const Config& config, const Heads& fallback) {
    Heads heads;
    heads.width = config.positive("hidden_size", fallback.width);
    heads.heads = config.positive("num_attention_heads", fallback.heads);
    heads.kv_heads = config.positive("num_key_value_heads", fallback.kv_heads > 0 ? fallback.kv_heads : heads.heads);
    const bool splits = heads.width % heads.heads == 0;
    const std::int64_t even = splits ? heads.width / heads.heads : 0;
    if (config.has("head_dim"))
        heads.head_width = config.positive("head_dim");
    else
        heads.head_width = fallback.head_width > 0 ? fallback.head_width : even;
    check_heads(config, heads, "num_attention_heads", "num_key_value_heads");
    return heads;
}

nn::Activation activation_named(const Config& config, const char* field, const std::string& name) {
    static const std::map<std::string, nn::Activation> known{
        {"relu", nn::Activation::relu},           {"gelu", nn::Activation::gelu},
        {"gelu_python", nn::Activation::gelu},    {"gelu_new", nn::Activation::gelu_tanh},
        {"gelu_fast", nn::Activation::gelu_tanh}, {"gelu_pytorch_tanh", nn::Activation::gelu_tanh},
        {"silu", nn::Activation::silu},           {"swish", nn::Activation::silu},
    };
    const auto found = known.find(name);
    if (found == known.end()) config.reject(field, text_of("activation '", name, "' is not known"));
    return found->second;
}

nn::Activation read_activation(const Config& config, const char* field, const char* fallback) {
    return activation_named(config, field, config.text(field, fallback));
}

std::int64_t read_token(const Config& config, const char* field, std::int64_t fallback, std::int64_t vocabulary) {
    const std::int64_t id = config.integer(field, fallback);
    if (id < 0 || id >= vocabulary) config.reject(field, text_of(id, " is no token of a vocabulary of ", vocabulary));
    return id;
}

std::int64_t read_size_or_none(const Config& config, const char* field, std::int64_t fallback) {
    if (config.is_null(field) || (fallback == 0 && !config.has(field))) return 0;
    return config.positive(field, fallback);
}

double read_number_or_none(const Config& config, const char* field, double fallback) {
    return config.is_null(field) ? 0 : config.number(field, fallback);
}

std::int64_t read_padding(const Config& config, std::int64_t fallback, std::int64_t vocabulary) {
    const std::int64_t id = config.is_null("pad_token_id") ? -1 : config.integer("pad_token_id", fallback);
    return id < vocabulary ? std::max<std::int64_t>(id, -1) : -1;
}

namespace {

// Where a scaled model was trained: in the scaling itself, or at the top.
std::int64_t original_length(const Config& config, const Config& rope) {
    if (rope.has("original_max_position_embeddings")) return rope.positive("original_max_position_embeddings");
    if (config.has("original_max_position_embeddings")) return config.positive("original_max_position_embeddings");
    return config.positive("max_position_embeddings");
}

void read_yarn(const Config& rope, ops::RopeScaling& scaling) {
    scaling.beta_fast = rope.number("beta_fast", 32);
    scaling.beta_slow = rope.number("beta_slow", 1);
    if (rope.has("attention_factor")) scaling.attention_factor = rope.number("attention_factor");
    scaling.mscale = rope.number("mscale", 0);
    scaling.mscale_all_dim = rope.number("mscale_all_dim", 0);
    scaling.truncate = rope.boolean("truncate", true);
}

// A factor for each pair; how far the text is stretched follows from the two lengths.
ops::RopeScaling read_longrope(const Config& config, const Config& rope) {
    ops::RopeScaling scaling{.kind = ops::RopeScalingKind::longrope, .original_length = original_length(config, rope)};
    const auto longest = static_cast<double>(config.positive("max_position_embeddings"));
    const bool stretches =
        config.has("original_max_position_embeddings") || rope.has("original_max_position_embeddings");
    scaling.factor = stretches ? longest / static_cast<double>(scaling.original_length) : rope.number("factor", 1);
    if (rope.has("attention_factor")) scaling.attention_factor = rope.number("attention_factor");
    scaling.short_factors = rope.numbers("short_factor");
    scaling.long_factors = rope.numbers("long_factor");
    return scaling;
}

ops::RopeScaling read_scaling(const Config& config, const Config& rope) {
    using Kind = ops::RopeScalingKind;
    ops::RopeScaling scaling;
    const char* field = rope.has("rope_type") ? "rope_type" : "type";
    const std::string type = rope.text(field, "default");
    if (type == "default") return scaling;
    if (type == "longrope" || type == "su") return read_longrope(config, rope);
    scaling.factor = rope.number("factor");
    if (!(scaling.factor > 0)) rope.reject("factor", text_of("must be above 0, found ", scaling.factor));
    if (type == "linear") {
        scaling.kind = Kind::linear;
        return scaling;
    }
    scaling.original_length = original_length(config, rope);
    if (type == "dynamic") {
        scaling.kind = Kind::dynamic_ntk;
        scaling.original_length = config.positive("max_position_embeddings");
    } else if (type == "yarn") {
        scaling.kind = Kind::yarn;
        read_yarn(rope, scaling);
    } else if (type == "llama3") {
        scaling.kind = Kind::llama3;
        scaling.low_frequency_factor = rope.number("low_freq_factor");
        scaling.high_frequency_factor = rope.number("high_freq_factor");
    } else {
        rope.reject(field, text_of("rope type '", type, "' is not known"));
    }
    return scaling;
}

}  // namespace

nn::RopeSettings read_rope(const Config& config, std::int64_t head_width, const RopeDefaults& defaults,
                           const char* layer_type) {
    Config rope = config.section_or_empty(config.has("rope_parameters") ? "rope_parameters" : "rope_scaling");
    if (layer_type && rope.has(layer_type)) rope = rope.section(layer_type);
    const auto either = [&](const char* field, double fallback) {
        return rope.has(field) ? rope.number(field) : config.number(field, fallback);
    };
    const double partial = either("partial_rotary_factor", defaults.partial);
    const auto rotary = static_cast<std::int64_t>(partial * static_cast<double>(head_width));
    if (!(partial > 0 && partial <= 1) || rotary % 2 != 0)
        config.reject("partial_rotary_factor", text_of(partial, " of a head of ", head_width, " is no even width"));
    const double theta = either("rope_theta", defaults.theta);
    if (!(theta > 0)) config.reject("rope_theta", text_of("must be above 0, found ", theta));
    nn::RopeSettings settings{.rotary_width = rotary, .theta = theta, .scaling = read_scaling(config, rope)};
    if (settings.scaling.kind == ops::RopeScalingKind::longrope)
        for (const auto& [field, factors] : {std::pair("short_factor", &settings.scaling.short_factors),
                                             std::pair("long_factor", &settings.scaling.long_factors)})
            if (static_cast<std::int64_t>(factors->size()) != rotary / 2)
                rope.reject(field, text_of(factors->size(), " factors for ", rotary / 2, " pairs"));
    return settings;
}

std::vector<bool> read_sliding_layers(const Config& config, std::int64_t layers, std::int64_t pattern) {
    std::vector<bool> sliding;
    if (!config.has("layer_types")) {
        for (std::int64_t layer = 0; layer < layers; ++layer) sliding.push_back((layer + 1) % pattern != 0);
        return sliding;
    }
    for (const std::string& type : config.texts("layer_types")) {
        if (type != "sliding_attention" && type != "full_attention")
            config.reject("layer_types", text_of("layer type '", type, "' is not known"));
        sliding.push_back(type == "sliding_attention");
    }
    if (static_cast<std::int64_t>(sliding.size()) != layers)
        config.reject("layer_types", text_of(sliding.size(), " types for ", layers, " layers"));
    return sliding;
}

}  // namespace tessera::models
