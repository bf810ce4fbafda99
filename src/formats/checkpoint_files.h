// The names of a checkpoint's files, and finding them.
#pragma once

#include <filesystem>
#include <string>

namespace tessera::formats {

constexpr const char* config_name = "config.json";
constexpr const char* generation_config_name = "generation_config.json";
constexpr const char* single_name = "model.safetensors";
constexpr const char* index_name = "model.safetensors.index.json";

// The file of this name in the folder; empty when there is none. A link may not lead out of the folder, or a downloaded
// checkpoint could show any file of this machine.
std::filesystem::path find_file(const std::filesystem::path& folder, const std::string& name);

}  // namespace tessera::formats
