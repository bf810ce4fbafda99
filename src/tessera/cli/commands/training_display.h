// The display of a training run: one line that is drawn anew, or a line now and then where output is no
// terminal.
#pragma once

#include <string>
#include <vector>

#include "tessera/training/run/session.h"

namespace tessera::cli {

// Runs it and prints the result; `json` prints that alone, as an object. Ctrl-C and `kill` end it with a checkpoint,
// and with the command that goes on from there.
int train_with_display(const training::Recipe& recipe, const training::SessionOptions& options, bool json,
                       const std::string& resume_command);

}  // namespace tessera::cli
