// The size of a vocabulary in the configurations of our own models.
#pragma once

#include "tessera/models/settings.h"

namespace tessera::models {

// The field's own, or vocab_size where that is all there is: training writes it from the tokenizer.
inline std::int64_t read_vocabulary(const Config& config, const char* field) {
    return read_size(config, config.has(field) || !config.has("vocab_size") ? field : "vocab_size");
}

}  // namespace tessera::models
