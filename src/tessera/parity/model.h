// Every quantity of a model that a case holds.
#pragma once

#include "tessera/models/model.h"
#include "tessera/parity/comparison.h"

namespace tessera::parity {

void check_model(const Case& run, models::Model& model);

}  // namespace tessera::parity
