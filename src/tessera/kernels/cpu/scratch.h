// Memory for the length of one kernel call, from the caching allocator: `count` elements of T, on a cache line.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/core/memory.h"

namespace tessera::kernels::cpu {

template <class T = std::byte>
class Scratch {
   public:
    explicit Scratch(std::int64_t count)
        : bytes_(static_cast<std::size_t>(count) * sizeof(T)),
          data_(bytes_ > 0 ? static_cast<T*>(allocate(tessera::cpu, bytes_)) : nullptr) {}
    ~Scratch() {
        if (data_ != nullptr) release(tessera::cpu, data_, bytes_);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    T* data() const { return data_; }

   private:
    std::size_t bytes_;
    T* data_;
};

}  // namespace tessera::kernels::cpu
