// How good translations are: each source of a file of pairs is translated and compared with its target, by BLEU.
#pragma once

#include <functional>
#include <limits>

#include "data/bleu.h"
#include "data/text_pairs.h"
#include "inference/text_model.h"

namespace tessera::inference {

struct TranslationScoreOptions {
    std::int64_t most_pairs = std::numeric_limits<std::int64_t>::max();  // from the first on
    std::int64_t batch = 32;                                             // texts side by side
    std::function<void(std::int64_t done, std::int64_t total)> on_progress = {};
};

// A text ends by itself, or where it is twice as long as its source and some more, unless the settings have a limit.
data::Bleu translation_score(const TextModel& model, const GenerationSettings& settings, const data::TextPairs& pairs,
                             const TranslationScoreOptions& options = {});

}  // namespace tessera::inference
