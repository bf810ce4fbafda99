#include "tessera/tensor/storage.h"

#include <atomic>
#include <utility>

#include "tessera/core/memory.h"
#include "tessera/core/pool_allocator.h"

namespace tessera {
namespace {
std::atomic<std::int64_t> live_storages{0};
}

Storage::Storage(Device device, std::size_t bytes) : device_(device), data_(allocate(device, bytes)), bytes_(bytes) {
    ++live_storages;
}

Storage::Storage(Device device, void* data, std::size_t bytes, std::shared_ptr<const void> owner)
    : device_(device), data_(data), bytes_(bytes), owner_(std::move(owner)) {
    check(owner_ != nullptr, "storage over borrowed bytes needs their owner");
    ++live_storages;
}

std::shared_ptr<Storage> Storage::of(Device device, std::size_t bytes) {
    return std::allocate_shared<Storage>(PoolAllocator<Storage>(), device, bytes);
}

std::shared_ptr<Storage> Storage::without_memory(Device device) {
    return std::shared_ptr<Storage>(new Storage(device));
}

Storage::~Storage() {
    if (owner_ == nullptr) release(device_, data_, bytes_);
    --live_storages;
}

std::int64_t Storage::live() { return live_storages; }

}  // namespace tessera
