// The numbers by which GGUF names types of tensors and of metadata.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/core/dtype.h"

namespace tessera::formats {

constexpr std::uint32_t gguf_array = 9;  // of metadata: the other types are read by number in gguf.cpp
constexpr std::uint32_t gguf_max_rank = 4;

// None where the type is not known, or known and not supported.
std::optional<DType> dtype_of_gguf_type(std::uint32_t type);
std::string gguf_type_name(std::uint32_t type);  // "q2_k"; "number 99" of one that is not known
// Of a type whose blocks are known, read or not; none otherwise, or where they would not fit 63 bits.
std::optional<std::int64_t> gguf_type_bytes(std::uint32_t type, std::int64_t elements);
std::string supported_gguf_types();  // "f32, f16, …"

}  // namespace tessera::formats
