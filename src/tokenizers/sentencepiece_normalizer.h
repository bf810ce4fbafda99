// How SentencePiece writes a text before it is cut: by its character map, with spaces as a symbol and, if the model
// says so, one before the text and none too many.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tokenizers/character_map.h"
#include "tokenizers/sentencepiece_file.h"
#include "tokenizers/trie.h"

namespace tessera::tokenizers {

class SentencePieceNormalizer {
   public:
    // The file has to outlive it. `source` is what errors name.
    SentencePieceNormalizer(const SentencePieceFile& file, const std::string& source);

    // `prefix`: the text stands where the model wants a space before it.
    std::string normalize(std::string_view text, bool prefix) const;
    // The length of the longest user-defined piece at the beginning of a text; 0: none. Such pieces stay as they are.
    std::size_t user_defined_length(std::string_view text) const;

   private:
    CharacterMap::Found beginning(std::string_view text) const;

    const SentencePieceFile& file_;
    std::optional<CharacterMap> map_;
    Trie user_defined_;
    bool has_user_defined_ = false;
};

}  // namespace tessera::tokenizers
