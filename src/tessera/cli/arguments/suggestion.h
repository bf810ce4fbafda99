// Suggestions for a misspelt name.
#pragma once

#include <string>
#include <vector>

namespace tessera::cli {

// "; did you mean 'generate'?", or nothing where no name is near.
std::string suggestion(const std::string& typed, const std::vector<std::string>& known);

}  // namespace tessera::cli
