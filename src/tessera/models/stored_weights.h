// Contents of a model's weight files, from their headers: how much of each dtype, and of types that cannot be read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tessera::models {

struct StoredWeights {
    std::string dtype;  // "bf16", "q4_k"; of a GGUF file that has such, one that cannot be read too ("q2_k")
    std::int64_t tensors = 0, elements = 0;
    std::int64_t bytes = 0;  // 0: of a type that nothing is known of
    bool is_readable = true;
};

// By bytes, the most first. Empty where there are no weights: a config.json, a preset, a folder of these alone.
std::vector<StoredWeights> stored_weights(const std::filesystem::path& folder_or_file);

// Whether a file or a folder holds weights, of a model or of adapters.
bool has_weights(const std::filesystem::path& path);

}  // namespace tessera::models
