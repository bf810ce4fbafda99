// Fields of config.json that many families share, in the newest and the older styles. Fallbacks are the defaults of
// the reference's configuration classes, because its writers leave out what equals them.
#pragma once

#include "tessera/formats/config.h"
#include "tessera/nn/feed_forward.h"
#include "tessera/nn/module.h"
#include "tessera/nn/rope.h"

namespace tessera::models {

using formats::Config;

// Sizes come from strangers' files, so each has a limit far above that of any model: without one, a few digits could
// make us build layers for ever or ask for all memory. Below them, no product of a tensor's sizes overflows.
constexpr std::int64_t count_limit = 4096;                  // layers, heads, a head's width, experts, an image's side
constexpr std::int64_t size_limit = std::int64_t{1} << 24;  // widths, vocabularies, positions

// At least 1 and within the limit. Without a fallback, a missing field is an error.
std::int64_t read_count(const Config& config, std::string_view field);
std::int64_t read_count(const Config& config, std::string_view field, std::int64_t fallback);
std::int64_t read_size(const Config& config, std::string_view field);
std::int64_t read_size(const Config& config, std::string_view field, std::int64_t fallback);

double read_dropout(const Config& config, std::string_view field, double fallback);  // a probability below 1
double read_epsilon(const Config& config, std::string_view field, double fallback);  // what a norm adds: not below 0

struct Heads {
    std::int64_t width = 0;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;    // as a fallback: 0 means as many as heads
    std::int64_t head_width = 0;  // as a fallback: 0 means width / heads
};

// hidden_size, num_attention_heads, num_key_value_heads and head_dim, checked against each other.
Heads read_heads(const Config& config, const Heads& fallback);
// The same checks on numbers read under other names, which the error gives.
void check_heads(const Config& config, const Heads& heads, const char* heads_field, const char* kv_heads_field);

// "gelu", "gelu_new", "gelu_pytorch_tanh", "silu", "relu", …
nn::Activation read_activation(const Config& config, const char* field, const char* fallback);
// The same of a name that is only part of what the field holds.
nn::Activation activation_named(const Config& config, const char* field, const std::string& name);

// Fields that null switches off, whatever the default of their class is: 0 then.
std::int64_t read_window(const Config& config, const char* field, std::int64_t fallback);
std::int64_t read_size_or_none(const Config& config, const char* field, std::int64_t fallback);
double read_soft_cap(const Config& config, const char* field, double fallback);

// pad_token_id, whose embedding learns nothing from being looked up; −1 where there is none.
std::int64_t read_padding(const Config& config, std::int64_t fallback, std::int64_t vocabulary);

// A token's id, below the size of the vocabulary.
std::int64_t read_token(const Config& config, const char* field, std::int64_t fallback, std::int64_t vocabulary);

// The spread of a new model's weights: initializer_range, or init_std as BART's family calls it.
double read_init_std(const Config& config, double fallback = nn::InitStd().usual);
// That of a part: its section's, or the whole model's.
double read_part_init_std(const Config& whole, const char* section);

// rope_parameters, or rope_theta and rope_scaling; `layer_type` picks one where they differ by kind of layer
// ("sliding_attention"). The rotary width is head_width times partial_rotary_factor.
struct RopeDefaults {
    double theta = 10000;
    double partial = 1;
};
double read_theta(const Config& config, const char* field, double fallback);  // the base of the frequencies
nn::RopeSettings read_rope(const Config& config, std::int64_t head_width, const RopeDefaults& defaults = {},
                           const char* layer_type = nullptr);

// Which layers see a window only: layer_types, or every layer but each `pattern`-th.
std::vector<bool> read_sliding_layers(const Config& config, std::int64_t layers, std::int64_t pattern);

// A vocabulary's size in the configurations of our own models: the field's own, or vocab_size where that is all there
// is, as training writes it from the tokenizer.
std::int64_t read_vocabulary(const Config& config, const char* field);

}  // namespace tessera::models
