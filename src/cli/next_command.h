// What can be done with a model that has just been made.
#pragma once

#include <string>

namespace tessera::cli {

// The command after `tessera`, for a model in this folder that learns by this objective.
std::string next_command(const std::string& objective, const std::string& folder);

}  // namespace tessera::cli
