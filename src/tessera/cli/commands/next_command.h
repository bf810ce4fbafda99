// What can be done with a model that has just been made.
#pragma once

#include <string>
#include <vector>

namespace tessera::cli {

// The command after `tessera`, for a model in this folder that learns by this objective.
std::string next_command(const std::string& objective, const std::string& folder);

// A command again as it was typed, with --resume in place of --overwrite, for a shell.
std::string resume_command(const std::string& command, const std::vector<std::string>& arguments);

}  // namespace tessera::cli
