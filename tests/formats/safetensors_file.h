// Safetensors files put together by hand, so that every field can be wrong.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "tessera/formats/safetensors.h"

namespace tessera::testing {

inline std::string safetensors_file(std::string_view header, std::size_t data_bytes) {
    const std::uint64_t header_bytes = header.size();
    std::string file(8, '\0');
    std::memcpy(file.data(), &header_bytes, 8);
    file += header;
    for (std::size_t i = 0; i < data_bytes; ++i) file += static_cast<char>(i % 2);
    return file;
}

inline formats::Safetensors parse_safetensors(const std::string& file) {
    const auto bytes = std::make_shared<std::string>(file);
    return formats::parse_safetensors(std::as_writable_bytes(std::span(*bytes)), bytes, "a.safetensors");
}

}  // namespace tessera::testing
