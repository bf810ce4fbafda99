// The part of a model that sees: images in, a state per patch out.
#pragma once

#include "tessera/nn/context.h"
#include "tessera/nn/module.h"

namespace tessera::models {

class VisionTower : public nn::Module {
   public:
    // (B, C, H, W) → the patches' states (B, patches, width) after the last norm.
    virtual Tensor forward(const Tensor& pixel_values, const nn::Context& context) const = 0;
    virtual std::int64_t patches() const = 0;
    virtual std::int64_t width() const = 0;
};

}  // namespace tessera::models
