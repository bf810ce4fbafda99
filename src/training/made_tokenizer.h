// Tokenizers that need no training: every character, every byte or every word of the data is a token. They are written
// as tokenizer.json, as any other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera::training {

enum class MadeOf : std::uint8_t { characters, bytes, words };

struct MadeTokenizer {
    MadeOf kind = MadeOf::characters;
    std::vector<std::string> data = {};
    std::int64_t sentinels = 0;  // <extra_id_0> and so on
};

// "characters", "bytes" or "words".
std::optional<MadeOf> made_of(const std::string& name);

// tokenizer.json and tokenizer_config.json in the folder. Ids: <pad> 0, </s> 1, <s> 2, <unk> 3, <mask> 4, the
// sentinels, then what the data is made of, sorted.
void make_tokenizer(const MadeTokenizer& wanted, const std::filesystem::path& folder);

}  // namespace tessera::training
