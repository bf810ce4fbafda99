// Contents of a model's weight files, from their headers: how much of each dtype.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "tessera/core/dtype.h"

namespace tessera::models {

struct StoredWeights {
    DType dtype = DType::F32;
    std::int64_t tensors = 0, elements = 0, bytes = 0;
};

// By bytes, the most first. Empty where there are no weights: a config.json, a preset, a folder of these alone.
std::vector<StoredWeights> stored_weights(const std::filesystem::path& folder_or_file);

// Whether a file or a folder holds weights, of a model or of adapters.
bool has_weights(const std::filesystem::path& path);

}  // namespace tessera::models
