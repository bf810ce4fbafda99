// Byte pair encoding by scores, as SentencePiece does it: two neighbours merge where their text is a piece, the piece
// of the highest score first and among equals the leftmost.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/core/function_ref.h"

namespace tessera::tokenizers {

struct ScoredSymbol {
    std::string_view text;  // all of them lie one after the other in one text
    bool frozen = false;    // never merged
};
struct ScoredPiece {
    std::int32_t id = -1;  // -1: no piece
    float score = 0;
};

// The texts of what is left. `found` is asked for the texts of neighbours; `merging` is told of each pair that could
// merge: the id of their piece, and how many of its bytes are the left one's.
std::vector<std::string_view> merge_by_score(const std::vector<ScoredSymbol>& symbols, std::size_t longest_piece,
                                             FunctionRef<ScoredPiece(std::string_view)> found,
                                             FunctionRef<void(std::int32_t id, std::size_t left_bytes)> merging);

}  // namespace tessera::tokenizers
