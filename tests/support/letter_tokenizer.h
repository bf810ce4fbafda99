// A tokenizer for tests: every byte is its own id, after a few tokens with a part to play.
#pragma once

#include "core/error.h"
#include "tokenizers/tokenizer.h"

namespace tessera::testing {

class LetterTokenizer : public tokenizers::Tokenizer {
   public:
    LetterTokenizer() {
        special.padding = 0;
        special.eos = 1;
        special.bos = 2;
    }
    tokenizers::Ids encode(std::string_view text, bool with_special) const override {
        tokenizers::Ids ids;
        if (with_special) ids.push_back(2);
        for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
        if (with_special) ids.push_back(1);
        return ids;
    }
    tokenizers::Ids encode_pair(std::string_view first, std::string_view second, bool with_special) const override {
        return encode(text_of(first, second), with_special);
    }
    std::string decode(std::span<const std::int64_t> ids, bool) const override {
        std::string text;
        for (const std::int64_t id : ids) text += static_cast<char>(id);
        return text;
    }
    std::int64_t size() const override { return 256; }
    std::string token(std::int64_t id) const override { return {static_cast<char>(id)}; }
    std::optional<std::int64_t> id(std::string_view token) const override {
        return token.size() == 1 ? std::optional<std::int64_t>(static_cast<unsigned char>(token[0])) : std::nullopt;
    }
    bool is_special(std::int64_t id) const override { return id < 3; }
};

}  // namespace tessera::testing
