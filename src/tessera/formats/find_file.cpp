#include "tessera/formats/find_file.h"

#include <algorithm>

#include "tessera/core/error.h"

namespace tessera::formats {
namespace {

namespace fs = std::filesystem;

// Both without links and `..`.
bool is_inside(const fs::path& file, const fs::path& folder) {
    const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
    return end == folder.end();
}

// The Hub's cache keeps contents in models--X/blobs and shows them as links under models--X/snapshots/REVISION.
bool is_hub_blob(const fs::path& file, const fs::path& folder) {
    for (fs::path place = folder; place.has_relative_path(); place = place.parent_path())
        if (place.parent_path().filename() == "snapshots")
            return file.parent_path() == place.parent_path().parent_path() / "blobs";
    return false;
}

}  // namespace

fs::path find_file(const fs::path& folder, const std::string& name) {
    check(name.find('\0') == name.npos, folder.string(), ": a file's name with a zero byte in it");
    const fs::path path = folder / name;
    std::error_code error;
    const fs::file_status status = fs::symlink_status(path, error);
    if (status.type() == fs::file_type::not_found) return {};
    check(!error, path.string(), ": ", error.message());
    const fs::path target = fs::canonical(path, error);
    check(!error, path.string(), ": a link that leads nowhere: ", error.message());
    const fs::path home = fs::canonical(folder.empty() ? fs::path(".") : folder, error);
    check(!error, folder.string(), ": ", error.message());
    check(is_inside(target, home) || is_hub_blob(target, home), path.string(), ": a link out of the folder, to ",
          target.string(), "; only links within it, or to the blobs of its Hub cache, are followed");
    return path;
}

void check_exists(const fs::path& place) {
    const std::string name = place.string();
    check(name.find('\0') == name.npos, name.substr(0, name.find('\0')), ": the name goes on after a zero byte");
    std::error_code error;
    const fs::file_status status = fs::status(place, error);
    check(status.type() != fs::file_type::not_found, name, ": no such file or folder");
    check(!error, name, ": ", error.message());
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

namespace {

template <class Iterator, class Wanted>
std::vector<fs::path> paths_of(const fs::path& folder, const Wanted& is_wanted) {
    std::vector<fs::path> paths;
    std::error_code error, ignored;
    for (Iterator walk(folder, error); !error && walk != Iterator(); walk.increment(error))
        if (is_wanted(*walk, ignored)) paths.push_back(walk->path());
    check(!error, folder.string(), ": ", error.message());
    std::sort(paths.begin(), paths.end());
    return paths;
}

}  // namespace

std::vector<fs::path> files_below(const fs::path& folder) {
    return paths_of<fs::recursive_directory_iterator>(
        folder, [](const fs::directory_entry& entry, std::error_code& error) { return entry.is_regular_file(error); });
}

std::vector<fs::path> folders_in(const fs::path& folder) {
    return paths_of<fs::directory_iterator>(folder, [](const fs::directory_entry& entry, std::error_code& error) {
        return entry.is_directory(error) && !entry.path().filename().string().starts_with('.');
    });
}

}  // namespace tessera::formats
