// The source files of src/tessera, as the rules of the house read them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tessera::architecture {

const std::filesystem::path source_root = std::filesystem::path(TESSERA_SOURCE_DIR) / "src/tessera";

inline std::vector<std::filesystem::path> sources() {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_root)) {
        const std::string extension = entry.path().extension();
        if (extension == ".h" || extension == ".cpp" || extension == ".cu" || extension == ".cuh")
            found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

inline std::string relative_name(const std::filesystem::path& path) {
    return std::filesystem::relative(path, source_root).string();
}

inline std::vector<std::string> lines_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

}  // namespace tessera::architecture
