// Device memory for the time of one kernel or two. It may be given back while a kernel still uses it: there is one
// stream, and whatever the next owner does comes after.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/core/memory.h"

namespace tessera::kernels::cuda {

template <class T>
class Workspace {
   public:
    Workspace(Device device, std::int64_t elements)
        : device_(device), bytes_(sizeof(T) * static_cast<std::size_t>(elements)) {
        if (bytes_ != 0) data_ = static_cast<T*>(allocate(device, bytes_));
    }
    ~Workspace() {
        if (bytes_ != 0) release(device_, data_, bytes_);
    }
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

    T* data() const { return data_; }  // null when empty

   private:
    Device device_;
    std::size_t bytes_;
    T* data_ = nullptr;
};

}  // namespace tessera::kernels::cuda
