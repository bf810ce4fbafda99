// SentencePiece's model file (github.com/google/sentencepiece, sentencepiece_model.proto): pieces with scores and
// kinds, and how text is normalized.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tokenizers {

struct SentencePieceFile {
    enum class Kind : std::uint8_t { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };
    struct Piece {
        std::string text = {};
        float score = 0;
        Kind kind = Kind::Normal;
    };
    enum class Algorithm { Unigram = 1, Bpe = 2 };

    std::vector<Piece> pieces = {};  // by id
    Algorithm algorithm = Algorithm::Unigram;
    std::int64_t unknown = -1, bos = -1, eos = -1, padding = -1;  // ids; -1: none
    std::string unknown_surface = " \xE2\x81\x87 ";               // what an unknown piece is decoded to
    bool byte_fallback = false;
    bool space_as_suffix = false;  // the space symbol ends a word instead of beginning it
    std::string character_map = {};
    std::string space = "\xE2\x96\x81";  // what stands for a space within pieces
    bool add_dummy_prefix = true, remove_extra_spaces = true, escape_spaces = true;
};

// Throws where no model could be right: no piece, an empty one, one given twice, no unknown piece, bytes missing.
SentencePieceFile parse_sentencepiece(std::string_view bytes, const std::string& source);

// The file's bytes, which parse to the same.
std::string written(const SentencePieceFile& file);

}  // namespace tessera::tokenizers
