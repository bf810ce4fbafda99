// What a model is usually judged by, where nobody says: a classifier by its classes, a translator by pairs.
#pragma once

#include <string>

#include "tessera/models/model.h"

namespace tessera::training {

std::string default_objective(const models::Model& model);

}  // namespace tessera::training
