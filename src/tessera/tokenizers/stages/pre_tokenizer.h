// How a text is cut into words before the model sees it. Words go on as soon as they are found, so that nothing is
// kept.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/core/function_ref.h"
#include "tessera/tokenizers/stages/splitter.h"

namespace tessera::tokenizers {

struct Piece {
    std::string_view text;  // valid UTF-8
    bool at_start = false;  // of the whole text
};
using GivePiece = FunctionRef<void(Piece)>;

class PreTokenizer {
   public:
    virtual ~PreTokenizer() = default;
    virtual void split(Piece piece, GivePiece give) const = 0;
};

// What becomes of the places that a pattern finds.
enum class SplitBehaviour { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };
// `invert`: what lies between the matches is what is found.
std::unique_ptr<PreTokenizer> split_pre_tokenizer(std::unique_ptr<Splitter> splitter, SplitBehaviour behaviour,
                                                  bool invert = false);

// Spaces become `replacement`, and a word begins at each of them.
enum class PrependScheme { First, Never, Always };
// `named` is what errors name.
std::unique_ptr<PreTokenizer> metaspace_pre_tokenizer(std::string replacement, PrependScheme scheme, bool split,
                                                      std::string named);

// Words by the pattern, if any, then every byte as a character of its own (GPT-2), unless `raw`: then the bytes stay.
struct ByteLevelOptions {
    bool add_prefix_space = true;
    bool use_regex = true;
    bool raw = false;
    std::string named = "ByteLevel";  // what errors name
};
std::unique_ptr<PreTokenizer> byte_level_pre_tokenizer(const ByteLevelOptions& options);

std::unique_ptr<PreTokenizer> fixed_length_pre_tokenizer(std::size_t characters);

// One after the other.
std::unique_ptr<PreTokenizer> sequence_pre_tokenizer(std::vector<std::unique_ptr<PreTokenizer>> parts,
                                                     std::string named = "pre_tokenizer");

}  // namespace tessera::tokenizers
