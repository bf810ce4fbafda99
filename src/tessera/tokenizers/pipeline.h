// A tokenizer put together from parts, as tokenizer.json describes one: added tokens are found, what lies between is
// normalized, cut into words and encoded word by word; special tokens go around; a decoder goes the way back.
#pragma once

#include <memory>
#include <vector>

#include "tessera/tokenizers/added_tokens.h"
#include "tessera/tokenizers/model.h"
#include "tessera/tokenizers/stages/decoder.h"
#include "tessera/tokenizers/stages/normalizer.h"
#include "tessera/tokenizers/stages/pre_tokenizer.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::tokenizers {

// What is put around one text or two.
struct SpecialTemplate {
    struct Item {
        enum Kind { First, Second, Special } kind;
        Ids ids = {};  // of special tokens
    };
    std::vector<Item> single = {{Item::First}};
    std::vector<Item> pair = {{Item::First}, {Item::Second}};
};

struct PipelineParts {
    std::unique_ptr<Normalizer> normalizer = {};       // may be none
    std::unique_ptr<PreTokenizer> pre_tokenizer = {};  // may be none: one word
    std::unique_ptr<Model> model = {};
    std::unique_ptr<Decoder> decoder = {};  // may be none: tokens with spaces between
    SpecialTemplate around = {};
    std::vector<AddedToken> added = {};
};

std::shared_ptr<Tokenizer> make_pipeline(PipelineParts parts);

}  // namespace tessera::tokenizers
