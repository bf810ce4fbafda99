// The files of llama2.c (github.com/karpathy/llama2.c, stories*.bin): seven int32 of sizes, then every tensor as f32,
// one kind after another over all layers. As a checkpoint of the Hub's Llama.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "tessera/formats/checkpoint.h"

namespace tessera::models {

// Tensors lie over the mapped file, except queries and keys, whose rows are brought into the Hub's order. The
// checkpoint's folder is the file, so that errors name it.
formats::Checkpoint open_llama2c(const std::filesystem::path& file);
// The same over bytes, at an address fit for f32, that `owner` keeps; errors name `source`.
formats::Checkpoint parse_llama2c(std::span<std::byte> file, const std::shared_ptr<const void>& owner,
                                  const std::string& source);

}  // namespace tessera::models
