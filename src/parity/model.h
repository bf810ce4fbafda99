// Every quantity of a model that a case holds.
#pragma once

#include "models/model.h"
#include "parity/comparison.h"

namespace tessera::parity {

void check_model(const Case& run, models::Model& model);

}  // namespace tessera::parity
