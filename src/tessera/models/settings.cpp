#include "tessera/models/settings.h"

#include <algorithm>
#include <limits>
#include <map>

#include "tessera/core/error.h"

namespace tessera::models {
namespace {

std::int64_t limited(const Config& config, std::string_view field, std::int64_t limit) {
    const std::int64_t value = config.positive(field);
    if (value > limit) config.reject(field, text_of("expected at most ", limit, ", found ", value));
    return value;
}

}  // namespace

std::int64_t read_count(const Config& config, std::string_view field) { return limited(config, field, count_limit); }
std::int64_t read_count(const Config& config, std::string_view field, std::int64_t fallback) {
    return config.has(field) ? read_count(config, field) : fallback;
}

std::int64_t read_size(const Config& config, std::string_view field) { return limited(config, field, size_limit); }
std::int64_t read_size(const Config& config, std::string_view field, std::int64_t fallback) {
    return config.has(field) ? read_size(config, field) : fallback;
}

double read_dropout(const Config& config, std::string_view field, double fallback) {
    const double probability = config.number(field, fallback);
    if (!(probability >= 0 && probability < 1))
        config.reject(field, text_of("expected a probability from 0 to below 1, found ", probability));
    return probability;
}

double read_epsilon(const Config& config, std::string_view field, double fallback) {
    const double epsilon = config.number(field, fallback);
    if (!(epsilon >= 0 && epsilon <= 1))
        config.reject(field, text_of("expected a number from 0 to 1, found ", epsilon));
    return epsilon;
}

void check_heads(const Config& config, const Heads& heads, const char* heads_field, const char* kv_heads_field) {
    if (heads.heads % heads.kv_heads != 0)
        config.reject(kv_heads_field, text_of(heads.heads, " heads cannot share ", heads.kv_heads, " key-value heads"));
    if (heads.head_width == 0)
        config.reject(heads_field, text_of("a width of ", heads.width, " does not split into ", heads.heads, " heads"));
}

Heads read_heads(const Config& config, const Heads& fallback) {
    Heads heads;
    heads.width = read_size(config, "hidden_size", fallback.width);
    heads.heads = read_count(config, "num_attention_heads", fallback.heads);
    heads.kv_heads = read_count(config, "num_key_value_heads", fallback.kv_heads > 0 ? fallback.kv_heads : heads.heads);
    const bool splits = heads.width % heads.heads == 0;
    const std::int64_t even = splits ? heads.width / heads.heads : 0;
    if (config.has("head_dim"))
        heads.head_width = read_count(config, "head_dim");
    else
        heads.head_width = fallback.head_width > 0 ? fallback.head_width : even;
    check_heads(config, heads, "num_attention_heads", "num_key_value_heads");
    return heads;
}

nn::Activation activation_named(const Config& config, const char* field, const std::string& name) {
    static const std::map<std::string, nn::Activation> known{
        {"relu", nn::Activation::Relu},          {"gelu", nn::Activation::Gelu},
        {"gelu_python", nn::Activation::Gelu},   {"gelu_new", nn::Activation::GeluTanh},
        {"gelu_fast", nn::Activation::GeluTanh}, {"gelu_pytorch_tanh", nn::Activation::GeluTanh},
        {"silu", nn::Activation::Silu},          {"swish", nn::Activation::Silu},
        {"sigmoid", nn::Activation::Sigmoid},
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

std::int64_t read_window(const Config& config, const char* field, std::int64_t fallback) {
    return config.is_null(field) ? 0 : config.has(field) ? config.positive(field) : fallback;
}

std::int64_t read_size_or_none(const Config& config, const char* field, std::int64_t fallback) {
    return config.is_null(field) ? 0 : read_size(config, field, fallback);
}

double read_soft_cap(const Config& config, const char* field, double fallback) {
    const double cap = config.is_null(field) ? 0 : config.number(field, fallback);
    if (!(cap >= 0)) config.reject(field, text_of("must not be below 0, found ", cap));
    return cap;
}

double read_init_std(const Config& config, double fallback) {
    for (const char* field : {"initializer_range", "init_std"}) {
        if (!config.has(field)) continue;
        const double deviation = config.number(field);
        if (deviation < 0) config.reject(field, text_of("must not be below 0, found ", deviation));
        return deviation;
    }
    return fallback;
}

double read_part_init_std(const Config& whole, const char* section) {
    return read_init_std(whole.section_or_empty(section), read_init_std(whole));
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

double above_zero(const Config& config, const char* field, double value) {
    // What turns positions into angles is a float.
    const bool fits = value > 0 && value <= std::numeric_limits<float>::max();
    if (!fits) config.reject(field, text_of("must be above 0 and a float, found ", value));
    return value;
}

void read_yarn(const Config& rope, ops::RopeScaling& scaling) {
    scaling.beta_fast = above_zero(rope, "beta_fast", rope.number("beta_fast", 32));
    scaling.beta_slow = above_zero(rope, "beta_slow", rope.number("beta_slow", 1));
    if (rope.has("attention_factor")) scaling.attention_factor = rope.number("attention_factor");
    scaling.mscale = rope.number("mscale", 0);
    scaling.mscale_all_dim = rope.number("mscale_all_dim", 0);
    scaling.truncate = rope.boolean("truncate", true);
}

// A factor for each pair; how far the text is stretched follows from the two lengths.
ops::RopeScaling read_longrope(const Config& config, const Config& rope) {
    ops::RopeScaling scaling{.kind = ops::RopeScalingKind::Longrope, .original_length = original_length(config, rope)};
    if (scaling.original_length < 2)
        config.reject("original_max_position_embeddings", text_of("too short to stretch: ", scaling.original_length));
    const auto longest = static_cast<double>(config.positive("max_position_embeddings"));
    const bool stretches =
        config.has("original_max_position_embeddings") || rope.has("original_max_position_embeddings");
    scaling.factor = stretches ? longest / static_cast<double>(scaling.original_length)
                               : above_zero(rope, "factor", rope.number("factor", 1));
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
    scaling.factor = above_zero(rope, "factor", rope.number("factor"));
    if (type == "linear") {
        scaling.kind = Kind::Linear;
        return scaling;
    }
    scaling.original_length = original_length(config, rope);
    if (type == "dynamic") {
        scaling.kind = Kind::DynamicNtk;
        scaling.original_length = config.positive("max_position_embeddings");
    } else if (type == "yarn") {
        scaling.kind = Kind::Yarn;
        read_yarn(rope, scaling);
    } else if (type == "llama3") {
        scaling.kind = Kind::ByWavelength;
        scaling.low_frequency_factor = above_zero(rope, "low_freq_factor", rope.number("low_freq_factor"));
        scaling.high_frequency_factor = above_zero(rope, "high_freq_factor", rope.number("high_freq_factor"));
        if (scaling.low_frequency_factor >= scaling.high_frequency_factor)
            rope.reject("high_freq_factor",
                        text_of("must be above low_freq_factor, found ", scaling.high_frequency_factor));
    } else {
        rope.reject(field, text_of("rope type '", type, "' is not known"));
    }
    return scaling;
}

// Every layer keeps a table of frequencies this wide.
std::int64_t rotary_width(const Config& config, double partial, std::int64_t head_width) {
    const bool is_share = partial > 0 && partial <= 1;
    const auto rotary = is_share ? static_cast<std::int64_t>(partial * static_cast<double>(head_width)) : 0;
    if (rotary < 2 || rotary % 2 != 0)
        config.reject("partial_rotary_factor", text_of(partial, " of a head of ", head_width, " is no even width"));
    if (rotary > count_limit)
        config.reject("head_dim",
                      text_of("positions turn at most ", count_limit, " dimensions of a head, found ", rotary));
    return rotary;
}

}  // namespace

double read_theta(const Config& config, const char* field, double fallback) {
    return above_zero(config, field, config.number(field, fallback));
}

nn::RopeSettings read_rope(const Config& config, std::int64_t head_width, const RopeDefaults& defaults,
                           const char* layer_type) {
    Config rope = config.section_or_empty(config.has("rope_parameters") ? "rope_parameters" : "rope_scaling");
    if (layer_type && rope.has(layer_type)) rope = rope.section(layer_type);
    const auto either = [&](const char* field, double fallback) {
        return rope.has(field) ? rope.number(field) : config.number(field, fallback);
    };
    const double partial = either("partial_rotary_factor", defaults.partial);
    const std::int64_t rotary = rotary_width(config, partial, head_width);
    const double theta = read_theta(rope.has("rope_theta") ? rope : config, "rope_theta", defaults.theta);
    nn::RopeSettings settings{.rotary_width = rotary, .theta = theta, .scaling = read_scaling(config, rope)};
    if (settings.scaling.kind == ops::RopeScalingKind::DynamicNtk && rotary == 2)
        rope.reject("rope_type", "dynamic scaling needs more than one pair to turn");
    if (settings.scaling.kind == ops::RopeScalingKind::Longrope)
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

std::int64_t read_vocabulary(const Config& config, const char* field) {
    return read_size(config, config.has(field) || !config.has("vocab_size") ? field : "vocab_size");
}

}  // namespace tessera::models
