// The config.json files of published sizes (configs/), by name.
#pragma once

#include <span>

namespace tessera::models {

struct Preset {
    const char* name;
    const char* text;  // JSON
};

std::span<const Preset> presets();

}  // namespace tessera::models
