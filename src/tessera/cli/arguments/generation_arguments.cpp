#include "tessera/cli/arguments/generation_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <random>

#include "tessera/cli/terminal/terminal.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/tokenizer_file.h"

namespace tessera::cli {
namespace {

std::int64_t parse_id(const std::string& text, const char* option, std::int64_t vocabulary) {
    std::int64_t id = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    check(error == std::errc() && end == text.data() + text.size() && id >= 0, option, ": '", text,
          "' is no token id such as 2");
    check(vocabulary == 0 || id < vocabulary, option, ": token ", id, " is outside a vocabulary of ", vocabulary);
    return id;
}

models::LogitBias parse_logit_bias(const std::string& text, std::int64_t vocabulary) {
    const std::size_t equals = text.find('=');
    std::size_t used = 0;
    float value = 0;
    try {
        if (equals != text.npos) value = std::stof(text.substr(equals + 1), &used);
    } catch (const std::exception&) {
        used = 0;
    }
    check(equals != text.npos && used > 0 && equals + 1 + used == text.size(), "--logit-bias: '", text,
          "' is not ID=NUMBER, such as 17=-100");
    return {parse_id(text.substr(0, equals), "--logit-bias", vocabulary), value};
}

// Wrong values are the caller's, so the error names the option.
void check_range(const char* option, const std::optional<double>& value, double least, double most) {
    check(!value || (*value >= least && *value <= most), option, ": expected a number from ", least, " to ", most,
          ", found ", value.value_or(0));
}

}  // namespace

void GenerationArguments::declare_sampling(Arguments& parser) {
    // What is not given stands in the model's generation_config.json; "else" is for models without one.
    parser.option("--temperature,--temp", temperature,
                  "how freely to choose; 0: always the most probable token (default: the model's, else greedy)");
    parser.option("--top-k", top_k,
                  "only the K most probable tokens; 0: all (default: the model's, else 50 if sampling)");
    parser.option("--top-p", top_p,
                  "only the most probable tokens that together hold X; 1: all (default: the model's, else 1)");
    parser.option("--min-p", min_p,
                  "only tokens at least X times as probable as the first; 0: all (default: the model's, else 0)");
    parser.option("--typical,--typical-p", typical,
                  "only the most typical tokens that together hold X; 1: all (default: the model's, else 1)");
    parser.option("--repetition-penalty,--repeat-penalty", repetition_penalty,
                  "above 1: what was there already is less probable (default: the model's, else 1)");
    parser.option("--presence-penalty", presence_penalty,
                  "subtracted from the score of each token generated (default: 0)");
    parser.option("--frequency-penalty", frequency_penalty, "the same for each time it was generated (default: 0)");
    parser.option("-l,--logit-bias ID=NUMBER", logit_bias, "added to a token's score; may be repeated (default: none)");
    parser.option("-s,--seed", seed,
                  "the same seed gives the same text, where tokens are sampled (default: each run differs)");
    parser.flag("--greedy", greedy, "the most probable token each time, whatever the model's files say");
}

void GenerationArguments::declare_beams(Arguments& parser) {
    parser.option("--beams,--num-beams", beams, "search with so many beams; 1: none (default: the model's, else 1)");
    parser.option("--length-penalty", length_penalty,
                  "above 0, beams prefer long texts (default: the model's, else 1)");
}

void GenerationArguments::declare_stops(Arguments& parser, std::int64_t fallback_new) {
    parser.option("-n,--max-new,--max-tokens,--max-new-tokens,--n-predict,--predict", max_new,
                  text_of("how many tokens at most (default: the model's, else ", fallback_new, ")"));
    parser.option("--stop", stops, "a text to stop before; may be repeated (default: none)");
    parser.option("--stop-id ID", stop_ids,
                  "a token id to stop at, beside the model's own; may be repeated (default: none)");
    parser.flag("--ignore-stop", ignore_stop, "go on past the end-of-text token");
}

models::GenerationSettings GenerationArguments::applied(const models::OpenedModel& model) const {
    check_range("--temperature", temperature, 0, 1e6);
    check_range("--top-p", top_p, 1e-9, 1);
    check_range("--min-p", min_p, 0, 1);
    check_range("--typical", typical, 1e-9, 1);
    check_range("--repetition-penalty", repetition_penalty, 1e-6, 1e6);
    check_range("--presence-penalty", presence_penalty, -1e6, 1e6);
    check_range("--frequency-penalty", frequency_penalty, -1e6, 1e6);
    check_range("--length-penalty", length_penalty, -1e6, 1e6);
    constexpr std::int64_t most = std::int64_t{1} << 31;
    check(!max_new || *max_new > 0, "--max-new: expected 1 or more, found ", max_new.value_or(0));
    check(!max_new || *max_new <= most, "--max-new: expected at most ", with_separators(most), ", found ",
          max_new.value_or(0));
    check(!top_k || *top_k >= 0, "--top-k: expected 0 (all) or more, found ", top_k.value_or(0));
    check(!seed || *seed >= 0, "--seed: expected 0 or more, found ", seed.value_or(0));
    check(!beams || (*beams >= 1 && *beams <= models::most_beams), "--beams: expected 1 to ", models::most_beams,
          ", found ", beams.value_or(0));
    check(!(beams && *beams > 1 && wants_sampling()), "--beams: a search with beams does not sample");
    check(!(greedy && wants_sampling() && temperature.value_or(1) != 0),
          "--greedy: a temperature or a filter says "
          "otherwise");
    for (const std::string& stop : stops) check(!stop.empty(), "--stop: the text is empty");

    models::GenerationSettings s = inference::settings_of(model);
    s.sampler.temperature = temperature.value_or(s.sampler.temperature);
    s.sampler.top_k = top_k.value_or(s.sampler.top_k);
    s.sampler.top_p = top_p.value_or(s.sampler.top_p);
    s.sampler.min_p = min_p.value_or(s.sampler.min_p);
    s.sampler.typical_p = typical.value_or(s.sampler.typical_p);
    s.sampler.do_sample = !greedy && (s.sampler.do_sample || wants_sampling());
    s.sampler.seed = seed ? static_cast<std::uint64_t>(*seed) : std::random_device()();
    s.rules.repetition_penalty = repetition_penalty.value_or(s.rules.repetition_penalty);
    s.rules.presence_penalty = presence_penalty.value_or(0);
    s.rules.frequency_penalty = frequency_penalty.value_or(0);
    for (const std::string& bias : logit_bias) s.rules.logit_bias.push_back(parse_logit_bias(bias, model.vocabulary()));
    s.beams.count = beams.value_or(wants_sampling() || greedy ? 1 : s.beams.count);
    s.beams.returned = 1;
    s.beams.length_penalty = length_penalty.value_or(s.beams.length_penalty);
    if (max_new) s.max_new_tokens = max_new;
    if (seed && (s.sampler.is_greedy() || s.beams.count > 1))
        std::fprintf(stderr, "tessera: --seed has no effect: %s\n",
                     s.beams.count > 1 ? "a search with beams does not sample"
                                       : "the most probable token is taken each time; --temperature 0.8 samples");
    if (ignore_stop) s.stop_ids.clear();
    for (const std::string& id : stop_ids) s.stop_ids.push_back(parse_id(id, "--stop-id", model.vocabulary()));
    return s;
}

void check_utf8(const std::string& text, const std::string& what) {
    const std::size_t valid = text::valid_utf8_length(text);
    if (valid == text.size()) return;
    fail(fmt::format("{}: expected UTF-8, found the byte 0x{:02x} at place {}", what,
                     static_cast<unsigned char>(text[valid]), valid + 1));
}

std::string speed_line(const inference::GenerationTimings& s) {
    const auto rate = [](std::int64_t count, double seconds) {
        return seconds > 0 ? static_cast<double>(count) / seconds : 0.0;
    };
    const auto tokens = [](std::int64_t count) { return fmt::format("{} token{}", count, count == 1 ? "" : "s"); };
    const std::int64_t read = s.prompt_tokens - s.reused_tokens;
    std::string line = "prompt " + tokens(s.prompt_tokens);
    if (s.reused_tokens > 0) line += fmt::format(" ({} of them known)", s.reused_tokens);
    return line + fmt::format(
                      " in {:.3f} s ({:.1f} tokens/s), first token after {:.3f} s, then {} in {:.3f} s ({:.1f} "
                      "tokens/s)",
                      s.prefill_seconds, rate(read, s.prefill_seconds), s.first_token_seconds, tokens(s.decoded_tokens),
                      s.decode_seconds, rate(s.decoded_tokens, s.decode_seconds));
}

}  // namespace tessera::cli
