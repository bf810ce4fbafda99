// Models whose layers can learn one after another, before all of them together.
#pragma once

#include <string>
#include <vector>

#include "tessera/models/model.h"

namespace tessera::models {

class LayerWise {
   public:
    virtual ~LayerWise() = default;
    virtual std::size_t layers() const = 0;
    // What this layer is to learn from what those below it give; nothing flows back below it.
    virtual Tensor layer_loss(const Batch& batch, std::size_t layer, const LossOptions& options,
                              const nn::Context& context) const = 0;
    // Parts of the names of the parameters that are this layer's own.
    virtual std::vector<std::string> layer_parameters(std::size_t layer) const = 0;
};

}  // namespace tessera::models
