// Tokenizers made from the training data: every character of it, every byte or every word is a token; or one of the
// kinds that are learned. They are written as tokenizer.json, as any other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace tessera::training {

enum class TokenizerKind : std::uint8_t { Characters, Bytes, Words, Bpe, Unigram, Wordpiece };
constexpr const char* tokenizer_kind_names[] = {"characters", "bytes", "words", "bpe", "unigram", "wordpiece"};

struct TokenizerSpec {
    TokenizerKind kind = TokenizerKind::Characters;
    std::vector<std::string> data = {};
    std::int64_t vocabulary = 4000;  // of one that is learned
    std::int64_t sentinels = 0;      // <extra_id_0> and so on
    // Of one that is learned: what is being done, and how much of it.
    std::function<void(const std::string& what, double done, double total)> report = {};
};

// By the names of the kinds: "characters" and so on.
inline std::optional<TokenizerKind> tokenizer_kind(const std::string& name) {
    for (std::size_t kind = 0; kind < std::size(tokenizer_kind_names); ++kind)
        if (name == tokenizer_kind_names[kind]) return static_cast<TokenizerKind>(kind);
    return std::nullopt;
}

// tokenizer.json and tokenizer_config.json in the folder. Ids: <pad> 0, </s> 1, <s> 2, <unk> 3, <mask> 4, the
// sentinels, then what the data is made of, sorted.
// Those that are learned have the special tokens of `tessera tokenizer train`, and <pad>, </s>, <s> where these lack
// them.
void make_tokenizer(const TokenizerSpec& wanted, const std::filesystem::path& folder);

}  // namespace tessera::training
