// The tokenizer in a GGUF file, as the parts that tokenizers are made of and written from.
#pragma once

#include <string>
#include <vector>

#include "tessera/formats/gguf_tokenizer.h"
#include "tessera/tokenizers/added_tokens.h"
#include "tessera/tokenizers/sentencepiece/sentencepiece_file.h"

namespace tessera::models {

// How a byte-level tokenizer cuts text, by the file's name for it (github.com/ggml-org/llama.cpp, which writes them).
struct GgufCut {
    std::vector<const char*> names;
    std::vector<const char*> patterns;  // one after the other
    bool whole_words = false;           // a word that is a token is that token
    bool composed = false;              // normal form C first, as the reference does
    bool begins = false;                // texts have a beginning unless the file says otherwise
};
const GgufCut& gguf_cut(const std::string& name, const std::string& source);

enum class GgufType : std::int64_t { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };  // of a token
GgufType gguf_type(const formats::GgufTokenizer& read, std::size_t id);

// The tokenizer of the file: not too large, all of it UTF-8.
formats::GgufTokenizer checked_gguf_tokenizer(const formats::Gguf& gguf);
// Control tokens are special; those of the user are found in a text as well.
std::vector<tokenizers::AddedToken> gguf_added_tokens(const formats::GgufTokenizer& read);
// Of the kinds that SentencePiece made ("llama", "t5").
tokenizers::SentencePieceFile gguf_pieces(const formats::Gguf& gguf, const formats::GgufTokenizer& read);

}  // namespace tessera::models
