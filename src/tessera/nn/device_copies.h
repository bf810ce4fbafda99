// A constant of a module, such as a table that follows from its settings: made on the host, and copied once to each
// device that asks for it. Modules are shared between requests, so several threads may ask.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera::nn {

class DeviceCopies {
   public:
    DeviceCopies() = default;  // of nothing
    explicit DeviceCopies(Tensor host);

    bool defined() const { return host_.defined(); }
    Tensor on(Device device) const;

   private:
    struct Copies {
        std::mutex mutex;
        std::vector<Tensor> tensors;  // one for each device other than the host
    };

    Tensor host_;
    std::shared_ptr<Copies> copies_;
};

}  // namespace tessera::nn
