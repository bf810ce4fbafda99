// Byte pair encoding (Sennrich et al. 2016): a word's characters, or bytes, are merged pair by pair, the pair that was
// learned first before all others and among equals the leftmost.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/tokenizers/model.h"

namespace tessera::tokenizers {

struct BpeOptions {
    std::optional<std::string> unknown = {};  // stands for characters outside the vocabulary; without it they vanish
    std::string continuing_prefix = {};       // before every piece of a word but the first
    std::string end_suffix = {};              // after the last
    bool fuse_unknown = false;                // a run of unknown characters is one token
    bool byte_fallback = false;               // an unknown character becomes its bytes, <0x00> … <0xFF>
    bool ignore_merges = false;               // a word that is a token is that token
    bool ranked_by_id = false;                // merges have the order of the ids that they make, not of their list
    bool bytes = false;                       // words come as bytes; the tokens are written by byte_level.h
};

using Merges = std::vector<std::pair<std::string_view, std::string_view>>;

// `source` is what errors name. Every part of a merge and what it makes must be a token.
std::unique_ptr<Model> make_bpe(Vocabulary vocabulary, const Merges& merges, const BpeOptions& options,
                                const std::string& source);

}  // namespace tessera::tokenizers
