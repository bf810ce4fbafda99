// What the context says about the loss.
#pragma once

#include "tessera/nn/context.h"
#include "tessera/ops/cross_entropy.h"

namespace tessera::models {

inline ops::CrossEntropyOptions loss_options(const nn::Context& context) {
    return {.label_smoothing = context.label_smoothing, .z_loss = context.z_loss};
}

}  // namespace tessera::models
