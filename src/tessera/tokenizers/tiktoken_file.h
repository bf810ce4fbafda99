// tiktoken's files (github.com/openai/tiktoken): per line a token's bytes in base64 and its rank, which is its id. Two
// neighbours merge where together they are a token, the lowest rank first.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "tessera/tokenizers/tokenizer.h"
#include "tessera/tokenizers/tokenizer_config.h"

namespace tessera::tokenizers {

bool is_tiktoken_file(const std::filesystem::path& file);  // by its first line
std::shared_ptr<Tokenizer> parse_tiktoken_file(std::string_view text, const TokenizerConfig& config,
                                               const std::string& source);

}  // namespace tessera::tokenizers
