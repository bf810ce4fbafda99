// tokenizer.json: the file of the Rust library `tokenizers`, version 1.0.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "tessera/formats/json.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::tokenizers {

std::shared_ptr<Tokenizer> read_tokenizer_json(const std::filesystem::path& path);
std::shared_ptr<Tokenizer> parse_tokenizer_json(const formats::Json& json, const std::string& source);

}  // namespace tessera::tokenizers
