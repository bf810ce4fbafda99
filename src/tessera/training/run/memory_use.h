// Memory that training takes on a device.
#pragma once

#include <cstdint>

#include "tessera/core/device.h"

namespace tessera::training {

// What the process holds now on a device, or has held at most on the host.
std::int64_t memory_held(Device device);

// From its making on: the most that tensors took beyond those that were there. Around a training step these are the
// activations and the gradients on their way.
class ActivationMeter {
   public:
    explicit ActivationMeter(Device device);
    std::int64_t bytes() const;

   private:
    Device device_;
    std::int64_t before_;
};

}  // namespace tessera::training
