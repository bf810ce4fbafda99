// Decoding for models that see the last few tokens only: these are all that is kept, however long the text.
#pragma once

#include <functional>

#include "tessera/models/model.h"

namespace tessera::models {

struct WindowSettings {
    std::int64_t count = 0;       // how many a model looks back
    std::int64_t vocabulary = 0;  // ids outside it are refused
    // The logits (B, V) after the last tokens of each row.
    std::function<Tensor(const std::vector<std::vector<std::int64_t>>& rows)> logits = {};
};

std::unique_ptr<DecodingSession> decode_window(WindowSettings settings);

}  // namespace tessera::models
