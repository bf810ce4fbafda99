// What a person sees of a training run: one line that is drawn anew, or a line now and then where output is no
// terminal.
#pragma once

#include "training/session.h"

namespace tessera::cli {

// Runs it and prints the result; `json` prints that alone, as an object.
int train_with_display(const training::Recipe& recipe, const training::SessionOptions& options, bool json);

}  // namespace tessera::cli
