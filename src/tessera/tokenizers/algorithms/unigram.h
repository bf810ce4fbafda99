// The unigram language model (Kudo 2018): of all ways to cut a word into tokens, the one of the highest total score.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/tokenizers/model.h"

namespace tessera::tokenizers {

struct UnigramOptions {
    std::optional<std::int64_t> unknown = {};  // the id of unknown characters; a run of them is one token
    bool byte_fallback = false;                // an unknown run becomes its bytes, <0x00> … <0xFF>
};

// One score per id of the vocabulary. `source` is what errors name.
std::unique_ptr<Model> make_unigram(Vocabulary vocabulary, std::vector<double> scores, const UnigramOptions& options,
                                    const std::string& source);

}  // namespace tessera::tokenizers
