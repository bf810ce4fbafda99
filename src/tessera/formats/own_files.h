// Names that this program gives to files of its own, so that what is replaced or cleared away is told from what people
// keep beside it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace tessera::formats {

// Whether a file at this path below a folder is the program's own, or a folder once it is empty.
using IsOwn = std::function<bool(const std::filesystem::path& below)>;

bool is_weights_file(const std::filesystem::path& below);    // config.json, weights and their index
bool is_tokenizer_file(const std::filesystem::path& below);  // of every kind that the Hub's layout knows
bool is_model_file(const std::filesystem::path& below);      // both, adapters, and how images are prepared

// Removes what is the program's own, and the folders that are empty by that, the one given too.
void remove_own(const std::filesystem::path& folder, const IsOwn& is_own);

}  // namespace tessera::formats
