// The safetensors format: an 8-byte little-endian length, a JSON header that gives dtype, shape and byte range per
// name, then the data, row-major, without gaps (https://github.com/huggingface/safetensors, "Format").
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera::formats {

using TensorMap = std::map<std::string, Tensor>;
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using Metadata = std::map<std::string, std::string>;

struct Safetensors {
    TensorMap tensors;
    Metadata metadata;
};

// Maps the file: tensors lie over it, and no page of theirs is read before they are used. Only data that stand at an
// address unfit for their dtype are copied, and booleans looked through, since a byte other than 0 and 1 is none.
Safetensors read_safetensors(const std::filesystem::path& path);
// The same over bytes that `owner` keeps; errors name `source`.
Safetensors parse_safetensors(std::span<std::byte> file, const std::shared_ptr<const void>& owner,
                              const std::string& source);

struct SafetensorsOptions {
    std::optional<DType> dtype = {};  // floats are converted to it as they are written, one tensor at a time
    std::function<void(std::int64_t bytes)> on_written = {};  // told how many bytes each tensor took
};

// Whole or not at all. The same tensors give the same bytes in whatever order they come: wide dtypes stand first, so
// that everything is aligned, then names in order. Tensors on a device come to the host one at a time.
void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors, const Metadata& metadata = {},
                       const SafetensorsOptions& options = {});

}  // namespace tessera::formats
