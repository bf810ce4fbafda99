// Results too large for the caches are streamed past them: an ordinary store would first read the line it overwrites,
// a third more traffic for an op that reads two operands and writes one.
#pragma once

#include <cstdint>

namespace tessera::kernels::cpu {

constexpr std::int64_t streaming_bytes = std::int64_t{16} << 20;

inline bool worth_streaming(std::int64_t bytes) { return bytes >= streaming_bytes; }
// A run must be long for the wait at its end not to matter.
inline bool worth_streaming_run(std::int64_t bytes) { return bytes >= 16384; }
// Rows one after the other: where they do not fill whole cache lines, the lines they share are written in parts, which
// only long rows make up for.
inline bool worth_streaming_rows(std::int64_t bytes, std::int64_t row_bytes) {
    return worth_streaming(bytes) && (row_bytes % 64 == 0 || row_bytes >= 2048);
}
// Waits until streamed stores are visible to the other cores.
void finish_streaming();
// memcpy and fill past the caches; `pattern` is 64 bytes.
void stream_copy(const void* from, void* to, std::int64_t bytes);
void stream_fill(const void* pattern, void* to, std::int64_t bytes);

inline bool is_aligned(const void* data, std::uintptr_t alignment = 64) {
    return reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
}

}  // namespace tessera::kernels::cpu
