// How unequally a model's experts are busy.
#pragma once

#include <vector>

#include "tessera/nn/context.h"

namespace tessera::training {

// How many times its equal share of the choices the busiest expert of a layer gets, the mean over layers: 1 where all
// are equally busy, experts / experts per token where all tokens go to the same; 0 where there are no experts.
double busiest_expert(const std::vector<nn::RouterChoice>& layers);

}  // namespace tessera::training
