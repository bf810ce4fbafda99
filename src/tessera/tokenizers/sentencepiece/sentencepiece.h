// SentencePiece (Kudo & Richardson 2018): text is normalized with its spaces as a symbol, then cut by a unigram model
// or by BPE; what no piece covers becomes bytes, if the model has them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/tokenizers/added_tokens.h"
#include "tessera/tokenizers/sentencepiece/sentencepiece_file.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::tokenizers {

struct SentencePieceOptions {
    bool add_bos = false, add_eos = false;
    bool prefix_every_part = true;  // the dummy prefix after each added token too, not only at the start
    std::vector<AddedToken> added = {};
};

// `source` is what errors name.
std::shared_ptr<Tokenizer> make_sentencepiece(SentencePieceFile file, SentencePieceOptions options,
                                              const std::string& source);

}  // namespace tessera::tokenizers
