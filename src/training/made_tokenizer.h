// Tokenizers that need no training: every character of the data, or every byte, is a token. They are written as
// tokenizer.json, as any other.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::training {

struct MadeTokenizer {
    bool bytes = false;  // else characters, those of the files
    std::vector<std::string> data = {};
    std::int64_t sentinels = 0;  // <extra_id_0> and so on
};

// tokenizer.json and tokenizer_config.json in the folder. Ids: <pad> 0, </s> 1, <s> 2, <unk> 3, <mask> 4, the
// sentinels, then what the data is made of, sorted.
void make_tokenizer(const MadeTokenizer& wanted, const std::filesystem::path& folder);

}  // namespace tessera::training
