// The recipe's text data as one token file, made once and kept.
#pragma once

#include "tessera/data/token_file.h"
#include "tessera/training/objectives/objective.h"

namespace tessera::training {

data::TokenFile tokens_of(const ObjectiveInputs& inputs);
// Throws where they are fewer than one sequence.
data::TokenFile tokenised(const ObjectiveInputs& inputs);

}  // namespace tessera::training
