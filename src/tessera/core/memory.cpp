#include "tessera/core/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace tessera {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

// Eight classes per power of two: at most an eighth is wasted, and near sizes share blocks.
std::size_t size_class(std::size_t bytes) {
    const std::size_t least = std::max<std::size_t>(bytes, 512);
    const std::size_t step = std::max(std::bit_floor(least) / 8, memory_alignment);
    return (least + step - 1) / step * step;
}

// Address sanitizer sees a use after free only if memory really is freed.
bool keeps_blocks() {
#ifdef __SANITIZE_ADDRESS__
    return false;
#else
    static const bool keeps = std::getenv("TESSERA_NO_MEMORY_CACHE") == nullptr;
    return keeps;
#endif
}

class CachingAllocator {
   public:
    explicit CachingAllocator(Device device) : device_(device) {}

    void* allocate(std::size_t bytes) {
        const std::size_t size = size_class(bytes);
        const std::lock_guard lock(mutex_);
        void* data = take_cached(size);
        if (data == nullptr) data = ask_system(size);
        stats_.bytes_in_use += static_cast<std::int64_t>(size);
        stats_.blocks_in_use += 1;
        stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.bytes_in_use);
        return data;
    }

    void release(void* data, std::size_t bytes) {
        const std::size_t size = size_class(bytes);
        const std::lock_guard lock(mutex_);
        stats_.bytes_in_use -= static_cast<std::int64_t>(size);
        stats_.blocks_in_use -= 1;
        if (!keeps_blocks()) return driver(device_.kind).release(data, device_.index);
        cached_[size].push_back(data);
        stats_.bytes_cached += static_cast<std::int64_t>(size);
    }

    void release_cached() {
        const std::lock_guard lock(mutex_);
        release_all_cached();
    }

    MemoryStats stats() {
        const std::lock_guard lock(mutex_);
        return stats_;
    }

    void reset_peak() {
        const std::lock_guard lock(mutex_);
        stats_.peak_bytes = stats_.bytes_in_use;
    }

   private:
    void* take_cached(std::size_t size) {
        const auto found = cached_.find(size);
        if (found == cached_.end() || found->second.empty()) return nullptr;
        void* data = found->second.back();
        found->second.pop_back();
        stats_.bytes_cached -= static_cast<std::int64_t>(size);
        return data;
    }

    void* ask_system(std::size_t size) {
        stats_.system_allocations += 1;
        void* data = driver(device_.kind).allocate(size, device_.index);
        if (data == nullptr) {
            release_all_cached();
            data = driver(device_.kind).allocate(size, device_.index);
        }
        check(data != nullptr, "out of memory on ", device_, ": wanted ", size, " bytes with ", stats_.bytes_in_use,
              " in use");
        return data;
    }

    void release_all_cached() {
        for (auto& [size, blocks] : cached_) {
            for (void* block : blocks) driver(device_.kind).release(block, device_.index);
            stats_.bytes_cached -= static_cast<std::int64_t>(size * blocks.size());
        }
        cached_.clear();
    }

    Device device_;
    std::mutex mutex_;
    std::map<std::size_t, std::vector<void*>> cached_;
    MemoryStats stats_{};
};

CachingAllocator& allocator(Device device) {
    // Never destroyed: tensors with static lifetime may be freed after any other static object.
    static auto* allocators = new std::map<std::pair<DeviceKind, int>, CachingAllocator*>();
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    CachingAllocator*& found = (*allocators)[{device.kind, device.index}];
    if (found == nullptr) found = new CachingAllocator(device);
    return *found;
}

// Large blocks sit on huge pages: fewer page faults on first touch, fewer TLB misses ever after.
void* allocate_on_host(std::size_t bytes, int) {
    if (bytes < huge_page) return std::aligned_alloc(memory_alignment, bytes);
    const std::size_t rounded = (bytes + huge_page - 1) / huge_page * huge_page;
    void* data = std::aligned_alloc(huge_page, rounded);
    if (data != nullptr) madvise(data, rounded, MADV_HUGEPAGE);
    return data;
}

constexpr DeviceDriver cpu_driver{
    .count = [] { return 1; },
    .allocate = allocate_on_host,
    .release = [](void* data, int) { std::free(data); },
    .copy = [](void* to, Device, const void* from, Device, std::size_t bytes) { std::memcpy(to, from, bytes); },
    .zero = [](void* data, std::size_t bytes, int) { std::memset(data, 0, bytes); },
    .synchronize = [](int) {},
};
const InstallDriver install(DeviceKind::CPU, &cpu_driver);

}  // namespace

void* allocate(Device device, std::size_t bytes) { return allocator(device).allocate(bytes); }
void release(Device device, void* data, std::size_t bytes) noexcept { allocator(device).release(data, bytes); }
MemoryStats memory_stats(Device device) { return allocator(device).stats(); }
void reset_peak(Device device) { allocator(device).reset_peak(); }
void release_cached(Device device) { allocator(device).release_cached(); }

}  // namespace tessera
