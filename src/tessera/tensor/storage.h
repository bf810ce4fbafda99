// The bytes behind one or more tensors: from the caching allocator, or borrowed from something that owns them (a mapped
// file).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tessera/core/device.h"

namespace tessera {

class Storage {
   public:
    Storage(Device device, std::size_t bytes);
    static std::shared_ptr<Storage> of(Device device, std::size_t bytes);  // the object itself comes from a pool too
    // `owner` is kept alive as long as the storage.
    Storage(Device device, void* data, std::size_t bytes, std::shared_ptr<const void> owner);
    static std::shared_ptr<Storage> without_memory(Device device);  // data() is null
    ~Storage();
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }
    Device device() const { return device_; }

    static std::int64_t live();  // how many exist now, to show that nothing leaks

   private:
    explicit Storage(Device device) : Storage(device, nullptr, 0, std::make_shared<int>()) {}

    Device device_;
    void* data_;
    std::size_t bytes_;
    std::shared_ptr<const void> owner_;
};

}  // namespace tessera
