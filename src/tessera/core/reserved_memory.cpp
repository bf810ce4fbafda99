#include "tessera/core/reserved_memory.h"

#include <sys/mman.h>

#include <algorithm>

#include "tessera/core/error.h"

namespace tessera {

std::shared_ptr<void> reserve_memory(std::size_t bytes) {
    const std::size_t size = std::max<std::size_t>(bytes, 1);
    void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(data != MAP_FAILED, "out of memory: no address space for ", size, " bytes");
    return {data, [size](void* start) { munmap(start, size); }};
}

}  // namespace tessera
