// Models whose layers can be trained each for itself, before all of them together.
#pragma once

#include "models/model.h"

namespace tessera::models {

class LayerWise {
   public:
    virtual ~LayerWise() = default;
    // The sum over the layers of each one's own loss; a layer learns from its own alone.
    virtual Tensor layer_wise_loss(const Batch& batch, const nn::Context& context) const = 0;
};

}  // namespace tessera::models
