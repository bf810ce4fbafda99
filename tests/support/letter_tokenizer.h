// A tokenizer for tests: every byte is its own id, after a few tokens with a part to play.
#pragma once

#include "tessera/tokenizers/tokenizer.h"

namespace tessera::testing {

class LetterTokenizer : public tokenizers::Tokenizer {
   public:
    LetterTokenizer() {
        special.padding = 0;
        special.eos = 1;
        special.bos = 2;
    }
    std::unique_ptr<tokenizers::TextStream> stream(bool) const override {
        struct Letters : tokenizers::TextStream {
            void add(std::int64_t id, std::string& out) override { out += static_cast<char>(id); }
            void finish(std::string&) override {}
        };
        return std::make_unique<Letters>();
    }
    std::int64_t size() const override { return 256; }
    std::string token(std::int64_t id) const override { return {static_cast<char>(id)}; }
    std::optional<std::int64_t> id(std::string_view token) const override {
        return token.size() == 1 ? std::optional<std::int64_t>(static_cast<unsigned char>(token[0])) : std::nullopt;
    }
    bool is_special(std::int64_t id) const override { return id < 3; }

   protected:
    void append_ids(std::string_view text, tokenizers::Ids& out, Take) const override {
        for (const char c : text) out.push_back(static_cast<unsigned char>(c));
    }
    tokenizers::Ids surround(tokenizers::Ids first, const tokenizers::Ids* second, bool with_special) const override {
        tokenizers::Ids ids;
        if (with_special) ids.push_back(*special.bos);
        ids.insert(ids.end(), first.begin(), first.end());
        if (second != nullptr) ids.insert(ids.end(), second->begin(), second->end());
        if (with_special) ids.push_back(*special.eos);
        return ids;
    }
};

}  // namespace tessera::testing
