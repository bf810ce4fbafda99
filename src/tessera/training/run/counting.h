// A run that counts instead of descending: one pass over the texts sets the parameters of a model that can be counted
// (models/counted.h). Its folder is like that of any other run, but for checkpoints: there is nothing to resume.
#pragma once

#include "tessera/training/run/session.h"

namespace tessera::training {

// A step is batch × length tokens. `evaluate.every` steps the model is evaluated with what was counted so far: how much
// text it takes to know how much.
SessionResult run_counting(const Recipe& recipe, const SessionOptions& options, const SessionEvents& events);

}  // namespace tessera::training
