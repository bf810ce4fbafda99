// Memory for the length of one kernel call, from the caching allocator.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/core/memory.h"

namespace tessera {

class Scratch {
   public:
    explicit Scratch(std::int64_t bytes)
        : bytes_(static_cast<std::size_t>(bytes)), data_(bytes_ ? allocate(cpu, bytes_) : nullptr) {}
    ~Scratch() {
        if (data_) release(cpu, data_, bytes_);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    void* data() const { return data_; }
    template <class T>
    T* as() const {
        return static_cast<T*>(data_);
    }

   private:
    std::size_t bytes_;
    void* data_;
};

}  // namespace tessera
