// The loss of a language model whose logits are at hand.
#pragma once

#include "tessera/models/model.h"

namespace tessera::models {

// The mean cross entropy of each label after the logits at the place before it; labels are the ids unless given.
Tensor next_token_loss(const Tensor& logits, const Batch& batch, const LossOptions& options);

}  // namespace tessera::models
