// Llama's names of weights, which its relatives' checkpoints share.
#pragma once

#include "tessera/models/pre_norm_decoder.h"

namespace tessera::models {

WeightTable llama_weights();

}  // namespace tessera::models
