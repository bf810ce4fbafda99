// What changes a model's logits before a token is chosen, in the reference's order (transformers' logits processors):
// bias, penalties, forbidden repetitions and words, the shortest text, forced first and last tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tessera::inference {

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

// The tokens of one row: its prompt's (of a decoder beside an encoder: its start), then those generated.
struct History {
    std::vector<std::int64_t> ids = {};
    std::size_t prompt = 0;
};

class LogitsProcessor {
   public:
    LogitsProcessor(LogitsRules rules, std::vector<std::int64_t> stop_ids, std::int64_t vocabulary,
                    std::int64_t max_new_tokens);

    bool changes_nothing() const { return changes_nothing_; }
    void apply(std::span<float> logits, const History& history);  // without allocating, but as a text grows
    bool is_stop(std::int64_t id) const;

   private:
    void penalise(std::span<float> logits, const History& history);
    void forbid_repeated(std::span<float> logits, const History& history);
    void forbid_words(std::span<float> logits, const History& history) const;
    void forbid_stops(std::span<float> logits, const History& history) const;
    void force(std::span<float> logits, const History& history) const;

    LogitsRules rules_;
    std::vector<std::int64_t> stop_ids_;  // sorted
    struct BadWord {
        std::int64_t before;  // its last token but one; −1: it has only one
        std::size_t word;     // of rules_.bad_words
    };
    std::vector<BadWord> bad_words_;  // sorted
    std::size_t max_new_tokens_;
    bool changes_nothing_;
    std::vector<std::uint32_t> seen_;  // per token the last pass that saw it
    std::uint32_t pass_ = 0;
    std::vector<std::size_t> borders_;  // scratch of forbid_repeated
};

}  // namespace tessera::inference
