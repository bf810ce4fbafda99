// A model's parameters one by one: the Hub's names, shapes and, of a file or where config.json says it, dtypes.
#pragma once

#include <string>

namespace tessera::cli {

// `source`: a folder, a file of weights, a config.json or a preset's name.
int list_parameters(const std::string& source, bool json);

}  // namespace tessera::cli
