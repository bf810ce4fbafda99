// Files beside a tokenizer in a folder of the Hub: tokenizer_config.json, special_tokens_map.json and
// chat_template.jinja name the tokens with a part to play and the chat template.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tessera/formats/config.h"
#include "tessera/tokenizers/added_tokens.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::tokenizers {

struct TokenizerConfig {
    formats::Config settings = {};     // tokenizer_config.json; empty where there is none
    formats::Config special_map = {};  // special_tokens_map.json
    std::string chat_template = {};

    // The text of a token such as "bos_token", which may be written as an object; empty: none.
    std::string token(const std::string& name) const;
    // Every token that the files name, with its rules. An id of -1: the vocabulary has to know it.
    std::vector<AddedToken> added_tokens() const;
};

TokenizerConfig read_tokenizer_config(const std::filesystem::path& folder);
// Special tokens by their texts in the vocabulary, and the template. What the tokenizer knows already stays.
void apply(const TokenizerConfig& config, Tokenizer& tokenizer);

}  // namespace tessera::tokenizers
