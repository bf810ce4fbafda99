// A file inside a folder that came from a stranger: the one way to it for every reader of such a folder, of weights,
// settings, tokenizers, templates and adapters alike.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::formats {

// The file of this name ("config.json", "1_Pooling/config.json") in the folder; empty when there is none. The folder
// itself may be a link, and links within it are followed, and so are those of the Hub's cache to its blobs. Any other
// link out of the folder is an error: else a downloaded folder could show any file of this machine, or have it copied.
std::filesystem::path find_file(const std::filesystem::path& folder, const std::string& name);

// An error where nothing lies at a place that a user or a file named: it says why ("no such file or folder",
// "Permission denied").
void check_exists(const std::filesystem::path& place);

// Where a file's neighbours are: of "model.gguf" alone that is ".".
std::filesystem::path folder_of(const std::filesystem::path& file);

// Regular files in the folder and all below it, by name; links to folders are not entered. An error names the place
// that cannot be read.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder);
// Folders right in it, by name, but for hidden ones.
std::vector<std::filesystem::path> folders_in(const std::filesystem::path& folder);

}  // namespace tessera::formats
