// What the context says about the loss.
#pragma once

#include "nn/context.h"
#include "ops/cross_entropy.h"

namespace tessera::models {

inline ops::CrossEntropyOptions loss_options(const nn::Context& context) {
    return {.label_smoothing = context.label_smoothing, .z_loss = context.z_loss};
}

}  // namespace tessera::models
