// Decoding for models that see the last few tokens only: these are all that is kept, however long the text.
#pragma once

#include <functional>

#include "tessera/models/model.h"

namespace tessera::models {

struct LastTokens {
    std::int64_t count = 0;       // how many a model looks back
    std::int64_t vocabulary = 0;  // ids outside it are refused
    // The scores (B, V) after the last tokens of each row.
    std::function<Tensor(const std::vector<std::vector<std::int64_t>>& rows)> scores = {};
};

std::unique_ptr<Decoding> decode_last_tokens(LastTokens settings);

}  // namespace tessera::models
