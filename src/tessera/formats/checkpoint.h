// A checkpoint folder as the Hugging Face Hub lays it out: config.json, perhaps generation_config.json, and the weights
// in model.safetensors or in shards that model.safetensors.index.json lists.
#pragma once

#include <cstdint>
#include <filesystem>

#include "tessera/formats/config.h"
#include "tessera/formats/safetensors.h"

namespace tessera::formats {

struct Checkpoint {
    std::filesystem::path folder;
    Config config;
    Config generation_config;  // empty when the folder has none
    TensorMap tensors;         // over mapped files: opening reads headers only
};

Checkpoint open_checkpoint(const std::filesystem::path& folder);
Config read_config(const std::filesystem::path& folder_or_json_file);

struct WriteOptions {
    std::int64_t max_shard_bytes = 5'000'000'000;
    Metadata metadata = {{"format", "pt"}};  // without it some readers refuse the file
    Json generation_config = {};             // written too unless null
    SafetensorsOptions tensors = {};
};

// Writes a new folder, or replaces the checkpoint in one: in one step, when all its files are whole (output_folder.h).
// What else stands in the folder stays. The tensors may lie over the very files that are replaced.
void write_checkpoint(const std::filesystem::path& folder, const Json& config, const NamedTensors& tensors,
                      const WriteOptions& options = {});
inline void write_checkpoint(const std::filesystem::path& folder, const Config& config, const NamedTensors& tensors,
                             const WriteOptions& options = {}) {
    write_checkpoint(folder, config.json(), tensors, options);
}

}  // namespace tessera::formats
