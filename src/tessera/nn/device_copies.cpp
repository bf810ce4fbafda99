#include "tessera/nn/device_copies.h"

namespace tessera::nn {

DeviceCopies::DeviceCopies(Tensor host) : host_(std::move(host)), copies_(std::make_shared<Copies>()) {}

Tensor DeviceCopies::on(Device device) const {
    if (device == cpu) return host_;
    const std::lock_guard lock(copies_->mutex);
    for (const Tensor& copy : copies_->tensors)
        if (copy.device() == device) return copy;
    copies_->tensors.push_back(host_.to(device));
    return copies_->tensors.back();
}

}  // namespace tessera::nn
