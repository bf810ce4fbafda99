// Changes of a model's logits before a token is chosen, in the reference's order (transformers' logits processors):
// bias, penalties, forbidden repetitions and words, the shortest text, forced first and last tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/models/generation_settings.h"

namespace tessera::inference {

// The tokens of one row: its prompt's (of a decoder beside an encoder: its start), then those generated.
struct History {
    std::vector<std::int64_t> ids = {};
    std::size_t prompt = 0;
};

class LogitsProcessor {
   public:
    LogitsProcessor(models::LogitsRules rules, std::vector<std::int64_t> stop_ids, std::int64_t vocabulary,
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

    models::LogitsRules rules_;
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
