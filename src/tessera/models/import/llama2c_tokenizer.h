// llama2.c's tokenizer.bin: an int32, the length of the longest token, then per token an f32 score, an int32 length and
// that many bytes, to the end of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tessera::models {

struct Llama2cTokenizer {
    std::int64_t longest = 0;              // bytes
    std::vector<std::string> tokens = {};  // by id
    std::vector<float> scores = {};
};

Llama2cTokenizer open_llama2c_tokenizer(const std::filesystem::path& file);
Llama2cTokenizer parse_llama2c_tokenizer(std::span<const std::byte> file, const std::string& source);

}  // namespace tessera::models
