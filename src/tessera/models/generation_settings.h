// How a model wants to be asked: generation_config.json, or the same fields of config.json in older folders. Fallbacks
// are the reference's.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/formats/config.h"

namespace tessera::models {

struct SamplerSettings {
    bool do_sample = false;  // false: the most probable token
    double temperature = 1;  // 0: the most probable token
    std::int64_t top_k = 0;  // 0: all
    double top_p = 1;
    double min_p = 0;
    double typical_p = 1;
    std::uint64_t seed = 0;

    bool is_greedy() const { return !do_sample || temperature == 0; }
    void check_values() const;  // throws naming the setting and its value
};

struct LogitBias {
    std::int64_t id = 0;
    float value = 0;
};

struct LogitsRules {
    std::vector<LogitBias> logit_bias = {};  // added
    double repetition_penalty = 1;           // of every token so far, the prompt's too: a score > 0 is divided by it, a
                                             // score < 0 multiplied (Keskar et al. 2019)
    double presence_penalty = 0;             // subtracted once from every token that was generated (OpenAI)
    double frequency_penalty = 0;            // subtracted for each time it was
    std::int64_t no_repeat_ngram = 0;        // no n tokens in a row twice; 0: they may
    std::vector<std::vector<std::int64_t>> bad_words = {};             // never generated
    std::int64_t min_new_tokens = 0;                                   // no stop id before so many
    std::int64_t min_length = 0;                                       // the same, the prompt counted
    std::vector<std::int64_t> suppressed = {}, suppressed_first = {};  // never, and not as the first token
    std::optional<std::int64_t> forced_first = {};                     // where the text so far is one token long
    std::vector<std::int64_t> forced_last = {};                        // as the last token that fits

    bool changes_nothing() const;
    void check_against(std::int64_t vocabulary) const;  // throws naming the setting and the id
};

// When a text has as many finished beams as there are beams:
enum class EarlyStopping {
    Heuristic,  // it ends when the best running beam, were it to end now, would be worse than all of them
    WhenFull,   // it ends
    Never,      // as heuristic, but the running beam may grow to the full length first
};

constexpr std::int64_t most_beams = 1024;

struct BeamSettings {
    std::int64_t count = 1;
    double length_penalty = 1;  // scores are Σ log p / length^penalty: above 0, long texts gain
    EarlyStopping early_stopping = EarlyStopping::Heuristic;
    std::int64_t returned = 1;  // of the finished beams, the best first
};

struct GenerationSettings {
    SamplerSettings sampler = {};
    LogitsRules rules = {};
    BeamSettings beams = {};
    std::vector<std::int64_t> stop_ids = {};          // eos_token_id, one or several
    std::optional<std::int64_t> max_new_tokens = {};  // after the prompt
    std::optional<std::int64_t> max_length = {};      // with the prompt (of a decoder beside an encoder: its start)
    std::optional<std::int64_t> bos = {}, padding = {}, decoder_start = {};

    // How many tokens may follow a prompt of so many, where nobody asked for a number.
    std::int64_t most_new_tokens(std::int64_t prompt, std::int64_t fallback) const;
};

GenerationSettings read_generation_settings(const formats::Config& generation_config, const formats::Config& config);

}  // namespace tessera::models
