// The loss of a language model whose scores are at hand.
#pragma once

#include "tessera/models/model.h"

namespace tessera::models {

// The mean cross entropy of each label after the scores at the place before it; labels are the ids unless given.
Tensor next_token_loss(const Tensor& scores, const Batch& batch, const nn::Context& context);

}  // namespace tessera::models
