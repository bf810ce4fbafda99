// How well a language model predicts a text: every token from those before it, in windows that overlap so that each
// token has at least `window − stride` tokens before it (but at the text's beginning).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tessera/inference/prompt.h"

namespace tessera::evaluation {

struct ScoreOptions {
    std::int64_t window = 0;      // tokens read at once; 0: the model's context, at most 1024
    std::int64_t stride = 0;      // how far a window moves on; 0: half of it
    bool beyond_context = false;  // a window may be longer than the model's context, as long as there are positions
    std::function<void(std::int64_t done, std::int64_t total)> on_progress = {};  // in tokens
    std::string source = "the text";                                              // what errors call the text
};

struct Score {
    std::int64_t tokens = 0;             // that were predicted
    std::int64_t bytes = 0;              // of the text
    std::int64_t characters = 0;         // of the text
    double negative_log_likelihood = 0;  // natural, of all tokens together

    double perplexity() const;
    double bits_per_byte() const;
    double bits_per_character() const;
};

Score score_text(const models::OpenedModel& model, std::string_view text, const ScoreOptions& options = {});

}  // namespace tessera::evaluation
