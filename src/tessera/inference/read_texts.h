// Texts as a model reads them: as tokens, cut where its context ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/models/opened_model.h"

namespace tessera::inference {

// How much of a text was read.
struct ReadText {
    std::int64_t tokens = 0;
    bool is_truncated = false;  // the text goes on after them
};

struct ReadTexts {
    std::vector<tokenizers::Ids> ids;
    std::vector<ReadText> read;  // of each text
};

// `longest`: tokens, special ones with them; 0: no limit. A text without tokens is an error that gives its number.
ReadTexts read_texts(const models::OpenedModel& model, const std::vector<std::string>& texts, std::int64_t longest);

}  // namespace tessera::inference
