// The command to try next with a model that has just been made.
#pragma once

#include <string>
#include <vector>

#include "tessera/training/objectives/registration.h"

namespace tessera::cli {

// The command after `tessera`, for a model in this folder that has learned by this objective; null: by none.
std::string next_command(const training::ObjectiveTraits* objective, const std::string& folder);

// A command again as it was typed, with --resume in place of --overwrite, for a shell.
std::string resume_command(const std::string& command, const std::vector<std::string>& arguments);

}  // namespace tessera::cli
