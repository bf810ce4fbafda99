// Which tokens make up one word, told from how vocabularies write them: ## before what continues a word (WordPiece), a
// sign before what begins one (▁ of SentencePiece, Ġ of byte-level BPE), or letters next to letters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/tokenizers/tokenizer.h"

namespace tessera::data {

class TokenWords {
   public:
    explicit TokenWords(const tokenizers::Tokenizer& tokenizer);

    bool is_special(std::int64_t id) const { return kind(id) == Kind::Special; }
    // Whether `id`, standing behind `before`, belongs to the same word.
    bool joins(std::int64_t before, std::int64_t id) const;
    // Where each word of a row begins; special tokens are words of their own.
    std::vector<std::size_t> starts(std::span<const std::int64_t> ids) const;

   private:
    enum class Kind : std::uint8_t { Special, Begins, Continues, Letters, Alone };
    Kind kind(std::int64_t id) const { return kinds_[static_cast<std::size_t>(id)]; }

    std::vector<Kind> kinds_;
};

}  // namespace tessera::data
