// The numbers by which GGUF names types of tensors and of metadata.
#pragma once

#include <cstdint>
#include <string>

#include "core/dtype.h"

namespace tessera::formats {

constexpr std::uint32_t gguf_array = 9;  // of metadata: the other types are read by number in gguf.cpp
constexpr std::uint32_t gguf_max_rank = 4;

// `who` names file and tensor in the error for a type that is unknown, or known and not supported.
DType dtype_of_gguf_type(std::uint32_t type, const std::string& who);

}  // namespace tessera::formats
