// WordPiece (Schuster & Nakajima 2012): a word is cut from the left, each time by the longest token that fits; a word
// of which any part fits none is unknown as a whole. And its simplest relative, for which a word is a token or unknown.
#pragma once

#include <memory>
#include <string>

#include "tessera/tokenizers/model.h"

namespace tessera::tokenizers {

struct WordPieceOptions {
    std::string unknown = "[UNK]";
    std::string continuing_prefix = "##";  // before every token of a word but the first
    std::int64_t longest_word = 100;       // characters; a longer word is unknown
};

// `source` is what errors name.
std::unique_ptr<Model> make_word_piece(Vocabulary vocabulary, const WordPieceOptions& options,
                                       const std::string& source);
std::unique_ptr<Model> make_word_level(Vocabulary vocabulary, const std::string& unknown, const std::string& source);

}  // namespace tessera::tokenizers
