// Tokens that are found in a text as they are written, before the model sees it: the longest of those that begin first.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tessera/core/function_ref.h"
#include "tessera/tokenizers/stages/normalizer.h"
#include "tessera/tokenizers/structures/token_matcher.h"

namespace tessera::tokenizers {

struct AddedToken {
    std::string content;
    std::int64_t id = 0;
    bool single_word = false;                      // not within a word
    bool left_strip = false, right_strip = false;  // takes the spaces beside it
    bool normalized = false;                       // looked for in the normalized text
    bool special = false;                          // left out of decoded text if so wished
    std::string normal = {};                       // what is looked for; set by AddedTokens
};

class AddedTokens {
   public:
    AddedTokens() = default;
    AddedTokens(std::vector<AddedToken> tokens, const Normalizer* normalizer);

    enum class Text { Raw, Normalized };
    // The text from left to right: what lies between tokens with id -1, then a token's id, and so on. Nothing is empty.
    void split(std::string_view text, Text kind,
               FunctionRef<void(std::size_t begin, std::size_t end, std::int64_t id)> give) const;
    bool any(Text kind) const { return kind == Text::Raw ? !raw_.empty : !normalized_.empty; }

    const AddedToken* find(std::int64_t id) const;  // null: no such
    const AddedToken* find(std::string_view content) const;
    const std::vector<AddedToken>& all() const { return tokens_; }

   private:
    struct Matcher {
        TokenMatcher tokens = {};
        bool empty = true;
        char first = '\0';  // the byte that all of them begin with, if it is but one
        bool one_first = true;

        void add(std::string_view text, std::uint32_t value);
        std::size_t next(std::string_view text, std::size_t at) const;  // where one may begin; the end: nowhere
    };

    std::vector<AddedToken> tokens_;
    std::unordered_map<std::int64_t, std::uint32_t> by_id_;
    std::unordered_map<std::string, std::uint32_t, SeededHash, std::equal_to<>> by_content_;  // the first of equals
    Matcher raw_, normalized_;
};

}  // namespace tessera::tokenizers
