// How good translations are: each source of a file of pairs is translated and compared with its target, by BLEU.
#pragma once

#include <functional>
#include <limits>

#include "tessera/data/text_pairs.h"
#include "tessera/evaluation/bleu.h"
#include "tessera/inference/generator.h"

namespace tessera::evaluation {

struct TranslationScoreOptions {
    std::int64_t most_pairs = std::numeric_limits<std::int64_t>::max();  // from the first on
    std::int64_t batch = 32;                                             // texts side by side
    std::function<void(std::int64_t done, std::int64_t total)> on_progress = {};
};

// A text ends by itself, or where it is twice as long as its source and some more, unless the settings have a limit.
evaluation::Bleu translation_score(const models::OpenedModel& model, const models::GenerationSettings& settings,
                                   const data::TextPairs& pairs, const TranslationScoreOptions& options = {});

}  // namespace tessera::evaluation
