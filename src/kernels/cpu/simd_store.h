// Results too large for the caches are streamed past them: an ordinary store would first read the line it overwrites,
// a third more traffic for an op that reads two operands and writes one.
#pragma once

#include <cstdint>

namespace tessera {

constexpr std::int64_t streaming_bytes = std::int64_t{16} << 20;

inline bool worth_streaming(std::int64_t bytes) { return bytes >= streaming_bytes; }
inline bool is_aligned(const void* data, std::uintptr_t alignment = 64) {
    return reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
}

}  // namespace tessera
