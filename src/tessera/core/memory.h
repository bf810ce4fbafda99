// The caching allocator. Freed blocks are kept by size class and handed out again, because asking the system (or the
// CUDA driver) each time costs more than most kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/core/device.h"

namespace tessera {

constexpr std::size_t memory_alignment = 64;  // a cache line, and the widest vector

// Never null, aligned to memory_alignment; throws naming the size when there is no memory left. Contents are arbitrary.
void* allocate(Device device, std::size_t bytes);
void release(Device device, void* data, std::size_t bytes) noexcept;  // the same `bytes` as at allocate

struct MemoryStats {
    std::int64_t bytes_in_use;
    std::int64_t peak_bytes;  // the most ever in use since reset_peak
    std::int64_t bytes_cached;
    std::int64_t blocks_in_use;
    std::int64_t system_allocations;  // how often the system was asked, ever
};
MemoryStats memory_stats(Device device);
void reset_peak(Device device);
void release_cached(Device device);

}  // namespace tessera
