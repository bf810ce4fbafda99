// The interface of a tokenizer's algorithm: a word becomes ids.
#pragma once

#include <cstdint>
#include <string_view>

#include "tessera/core/function_ref.h"
#include "tessera/tokenizers/structures/vocabulary.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::tokenizers {

class Model {
   public:
    virtual ~Model() = default;
    // `word` is not empty. Const and without hidden state: many threads encode at once.
    virtual void encode(std::string_view word, Ids& out) const = 0;
    // Parts of a long word that can be encoded each on its own with the same result.
    virtual void cut(std::string_view word, FunctionRef<void(std::string_view part)> give) const { give(word); }
    virtual const Vocabulary& vocabulary() const = 0;
};

}  // namespace tessera::tokenizers
