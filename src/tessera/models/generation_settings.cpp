#include "tessera/models/generation_settings.h"

#include <algorithm>
#include <cmath>

#include "tessera/core/error.h"

namespace tessera::models {
namespace {

using formats::Config;

// Each once, in the order in which they came.
void drop_repeated(std::vector<std::int64_t>& ids) {
    std::vector<std::pair<std::int64_t, std::size_t>> places;
    for (std::size_t i = 0; i < ids.size(); ++i) places.emplace_back(ids[i], i);
    std::sort(places.begin(), places.end());
    std::vector<bool> again(ids.size(), false);
    for (std::size_t i = 1; i < places.size(); ++i) again[places[i].second] = places[i].first == places[i - 1].first;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (!again[i]) ids[kept++] = ids[i];
    ids.resize(kept);
}

// One id or a list of them.
std::vector<std::int64_t> read_ids(const Config& config, const char* field) {
    if (!config.has(field)) return {};
    std::vector<std::int64_t> ids;
    if (config.json().find(field)->is_array())
        ids = config.integers(field);
    else
        ids.push_back(config.integer(field));
    std::erase_if(ids, [](std::int64_t id) { return id < 0; });  // some files write −1 for none
    drop_repeated(ids);
    return ids;
}

std::optional<std::int64_t> read_id(const Config& config, const char* field) {
    const std::vector<std::int64_t> ids = read_ids(config, field);
    return ids.empty() ? std::nullopt : std::optional(ids.front());
}

std::optional<std::int64_t> read_length(const Config& config, const char* field) {
    if (!config.has(field)) return std::nullopt;
    return config.positive(field);
}

// With a fixed range: a wrong value is the file's fault, and the error names it.
double read_number(const Config& config, const char* field, double fallback, double least, double most) {
    const double value = config.number(field, fallback);
    if (!(value >= least && value <= most))
        config.reject(field, text_of("expected a number from ", least, " to ", most, ", found ", value));
    return value;
}

std::int64_t read_whole(const Config& config, const char* field, std::int64_t fallback) {
    const std::int64_t value = config.integer(field, fallback);
    if (value < 0 || value > (std::int64_t{1} << 31)) config.reject(field, text_of("out of range: ", value));
    return value;
}

SamplerSettings read_sampler(const Config& config) {
    return {.do_sample = config.boolean("do_sample", false),
            .temperature = read_number(config, "temperature", 1, 0, 1e6),
            .top_k = read_whole(config, "top_k", 50),
            .top_p = read_number(config, "top_p", 1, 1e-9, 1),
            .min_p = read_number(config, "min_p", 0, 0, 1),
            .typical_p = read_number(config, "typical_p", 1, 1e-9, 1)};
}

std::vector<std::vector<std::int64_t>> read_words(const Config& config, std::vector<std::int64_t> stop_ids) {
    std::sort(stop_ids.begin(), stop_ids.end());
    const char* field = "bad_words_ids";
    std::vector<std::vector<std::int64_t>> words;
    if (!config.has(field)) return words;
    const formats::Json& list = *config.json().find(field);
    if (!list.is_array()) config.reject(field, "expected a list of lists of ids");
    for (const formats::Json& word : list.items()) {
        if (!word.is_array()) config.reject(field, "expected a list of lists of ids");
        std::vector<std::int64_t> ids;
        for (const formats::Json& id : word.items()) {
            if (!id.is_integer()) config.reject(field, "expected a list of lists of ids");
            ids.push_back(id.as_integer());
        }
        const bool is_stop = ids.size() == 1 && std::binary_search(stop_ids.begin(), stop_ids.end(), ids[0]);
        if (!ids.empty() && !is_stop) words.push_back(std::move(ids));
    }
    return words;
}

LogitsRules read_rules(const Config& config, const std::vector<std::int64_t>& stop_ids) {
    return {.repetition_penalty = read_number(config, "repetition_penalty", 1, 1e-9, 1e9),
            .no_repeat_ngram = read_whole(config, "no_repeat_ngram_size", 0),
            .bad_words = read_words(config, stop_ids),
            .min_new_tokens = read_whole(config, "min_new_tokens", 0),
            .min_length = read_whole(config, "min_length", 0),
            .suppressed = read_ids(config, "suppress_tokens"),
            .suppressed_first = read_ids(config, "begin_suppress_tokens"),
            .forced_first = read_id(config, "forced_bos_token_id"),
            .forced_last = read_ids(config, "forced_eos_token_id")};
}

EarlyStopping read_early_stopping(const Config& config) {
    const char* field = "early_stopping";
    if (!config.has(field)) return EarlyStopping::Heuristic;
    if (config.json().find(field)->is_string()) {
        if (config.text(field) != "never") config.reject(field, "expected true, false or \"never\"");
        return EarlyStopping::Never;
    }
    return config.boolean(field) ? EarlyStopping::WhenFull : EarlyStopping::Heuristic;
}

BeamSettings read_beams(const Config& config) {
    BeamSettings beams{.count = std::max<std::int64_t>(1, read_whole(config, "num_beams", 1)),
                       .length_penalty = read_number(config, "length_penalty", 1, -1e6, 1e6),
                       .early_stopping = read_early_stopping(config),
                       .returned = std::max<std::int64_t>(1, read_whole(config, "num_return_sequences", 1))};
    if (beams.count > most_beams) config.reject("num_beams", text_of("more than ", most_beams, ": ", beams.count));
    beams.returned = std::min(beams.returned, beams.count);
    return beams;
}

void check_id(const char* setting, std::int64_t id, std::int64_t vocabulary) {
    check(id >= 0 && id < vocabulary, setting, ": token ", id, " is outside a vocabulary of ", vocabulary);
}

void check_share(const char* name, double value, bool zero_allowed) {
    check(value <= 1 && (zero_allowed ? value >= 0 : value > 0), name, ": expected a number ",
          zero_allowed ? "from 0 to 1" : "above 0, at most 1", ", found ", value);
}

}  // namespace

void SamplerSettings::check_values() const {
    check(temperature >= 0 && std::isfinite(temperature), "temperature: expected 0 or more, found ", temperature);
    check(top_k >= 0, "top_k: expected 0 (all) or more, found ", top_k);
    check_share("top_p", top_p, false);
    check_share("min_p", min_p, true);
    check_share("typical_p", typical_p, false);
}

bool LogitsRules::changes_nothing() const {
    return logit_bias.empty() && repetition_penalty == 1 && presence_penalty == 0 && frequency_penalty == 0 &&
           no_repeat_ngram == 0 && bad_words.empty() && min_new_tokens == 0 && min_length == 0 && suppressed.empty() &&
           suppressed_first.empty() && !forced_first && forced_last.empty();
}

void LogitsRules::check_against(std::int64_t vocabulary) const {
    check(repetition_penalty > 0 && std::isfinite(repetition_penalty),
          "repetition penalty: expected a number above 0, "
          "found ",
          repetition_penalty);
    check(std::isfinite(presence_penalty), "presence penalty: expected a number, found ", presence_penalty);
    check(std::isfinite(frequency_penalty), "frequency penalty: expected a number, found ", frequency_penalty);
    check(no_repeat_ngram >= 0, "no_repeat_ngram_size: expected 0 or more, found ", no_repeat_ngram);
    for (const LogitBias& bias : logit_bias) {
        check_id("logit bias", bias.id, vocabulary);
        check(!std::isnan(bias.value), "logit bias: token ", bias.id, ": not a number");
    }
    if (forced_first) check_id("forced_bos_token_id", *forced_first, vocabulary);
    for (const std::int64_t id : forced_last) check_id("forced_eos_token_id", id, vocabulary);
}

std::int64_t GenerationSettings::most_new_tokens(std::int64_t prompt, std::int64_t fallback) const {
    if (max_new_tokens) return *max_new_tokens;
    return max_length ? std::max<std::int64_t>(1, *max_length - prompt) : fallback;
}

GenerationSettings read_generation_settings(const Config& generation_config, const Config& config) {
    const Config& how = generation_config.json().members().empty() ? config : generation_config;
    const Config text = config.section_or_empty("text_config");
    // Ids of tokens are the model's, wherever they stand.
    const auto with = [&](const char* field) -> const Config& {
        if (generation_config.has(field)) return generation_config;
        return config.has(field) ? config : text;
    };
    GenerationSettings settings;
    settings.stop_ids = read_ids(with("eos_token_id"), "eos_token_id");
    settings.bos = read_id(with("bos_token_id"), "bos_token_id");
    settings.padding = read_id(with("pad_token_id"), "pad_token_id");
    settings.decoder_start = read_id(with("decoder_start_token_id"), "decoder_start_token_id");
    settings.sampler = read_sampler(how);
    settings.rules = read_rules(how, settings.stop_ids);
    settings.beams = read_beams(how);
    settings.max_new_tokens = read_length(how, "max_new_tokens");
    settings.max_length = read_length(how, "max_length");
    return settings;
}

}  // namespace tessera::models
