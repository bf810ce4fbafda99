// SentencePiece's precompiled character map: which texts are written as which others. A double array trie (Aoe 1989, as
// the library Darts lays it out) from what is read to a place in a block of texts, each ended by a zero byte.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/tokenizers/stages/normalizer.h"

namespace tessera::tokenizers {

class CharacterMap {
   public:
    // Errors name `named`: the file and the field.
    static CharacterMap from_base64(std::string_view text, const std::string& named);
    static CharacterMap from_bytes(std::string_view bytes, const std::string& named);

    struct Found {
        std::size_t length;        // of what was read
        std::string_view instead;  // of it
        std::size_t steps = 0;     // bytes that were looked at
    };
    std::optional<Found> shortest(std::string_view text) const;  // of what the text may begin with
    Found longest(std::string_view text) const;                  // of them; else the first character as it is

   private:
    template <class Use>
    std::size_t walk(std::string_view text, Use use) const;
    Found found(std::size_t length, std::uint32_t place) const;

    std::vector<std::uint32_t> units_;
    std::string texts_;
};

// As the reference library applies it: to whole grapheme clusters, by what their beginning maps to, else by character.
std::unique_ptr<Normalizer> character_map_normalizer(CharacterMap map, std::string named);

}  // namespace tessera::tokenizers
