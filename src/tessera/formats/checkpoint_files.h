// The names of a checkpoint's files.
#pragma once

#include "tessera/formats/find_file.h"

namespace tessera::formats {

constexpr const char* config_name = "config.json";
constexpr const char* generation_config_name = "generation_config.json";
constexpr const char* single_name = "model.safetensors";
constexpr const char* index_name = "model.safetensors.index.json";

}  // namespace tessera::formats
