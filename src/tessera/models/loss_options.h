// Settings of a loss that vary from call to call.
#pragma once

#include <optional>

#include "tessera/ops/cross_entropy.h"

namespace tessera::models {

struct LossOptions {
    double label_smoothing = 0;  // this share of a target is spread over all classes
    double z_loss = 0;           // this times log² of the softmax's sum is added
    // This times how unequally experts are busy is added. Nothing: as much as the model's config says.
    std::optional<double> balance = {};

    ops::CrossEntropyOptions cross_entropy() const { return {.label_smoothing = label_smoothing, .z_loss = z_loss}; }
};

}  // namespace tessera::models
