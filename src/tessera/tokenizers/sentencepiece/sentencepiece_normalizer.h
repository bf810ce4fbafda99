// How SentencePiece writes a text before it is cut: by its character map, with spaces as a symbol and, if the model
// says so, one before the text and none too many.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tessera/tokenizers/sentencepiece/character_map.h"
#include "tessera/tokenizers/sentencepiece/sentencepiece_file.h"
#include "tessera/tokenizers/structures/token_matcher.h"

namespace tessera::tokenizers {

class SentencePieceNormalizer {
   public:
    // The file has to outlive it. `source` is what errors name.
    SentencePieceNormalizer(const SentencePieceFile& file, const std::string& source);

    // `prefix`: the text stands where the model wants a space before it.
    std::string normalize(std::string_view text, bool prefix) const;
    // The pieces that stay as they are.
    const TokenMatcher& user_defined() const { return user_defined_; }

   private:
    CharacterMap::Found beginning(std::string_view text, std::size_t at, LongestTokens& user_defined) const;

    const SentencePieceFile& file_;
    std::optional<CharacterMap> map_;
    TokenMatcher user_defined_;
    std::string named_;  // the map, as errors name it
};

}  // namespace tessera::tokenizers
