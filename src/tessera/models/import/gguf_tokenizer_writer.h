// The tokenizer inside a GGUF file as files of the Hub's layout, which the reference opens too.
#pragma once

#include <filesystem>

namespace tessera::models {

// tokenizer.json for a byte-level tokenizer, tokenizer.model for one of SentencePiece, and tokenizer_config.json.
void write_gguf_tokenizer(const std::filesystem::path& gguf, const std::filesystem::path& folder);

}  // namespace tessera::models
