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

// Weights are a .bin file too, so tokenizers are told by their names: tok*.bin, or one with "tokenizer" in it.
bool is_llama2c_tokenizer(const std::filesystem::path& file);
// The one tok*.bin beside a file of weights; empty where there is none, an error where there are two.
std::filesystem::path llama2c_tokenizer_beside(const std::filesystem::path& weights);

Llama2cTokenizer open_llama2c_tokenizer(const std::filesystem::path& file);
Llama2cTokenizer parse_llama2c_tokenizer(std::span<const std::byte> file, const std::string& source);

}  // namespace tessera::models
