// The header of a safetensors file, for reading and writing.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "tessera/core/dtype.h"

namespace tessera::formats {

constexpr std::size_t max_safetensors_header = 100'000'000;  // the reference's own limit
constexpr const char* metadata_key = "__metadata__";         // strings by name; every other key is a tensor

struct SafetensorsDType {
    std::string_view tag;
    DType dtype;
};
constexpr std::array<SafetensorsDType, 8> safetensors_dtypes{{{"F64", DType::F64},
                                                              {"F32", DType::F32},
                                                              {"BF16", DType::BF16},
                                                              {"F16", DType::F16},
                                                              {"I64", DType::I64},
                                                              {"I32", DType::I32},
                                                              {"U8", DType::U8},
                                                              {"BOOL", DType::Bool}}};

}  // namespace tessera::formats
