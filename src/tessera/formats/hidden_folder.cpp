#include "tessera/formats/hidden_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "tessera/formats/atomic_file.h"

namespace tessera::formats {

namespace fs = std::filesystem;

bool is_mark(const fs::path& name) { return name == unfinished_mark || name == replaced_mark; }

// Another program may take the folder for a stale one until it has its mark.
bool make_hidden(const fs::path& place, const std::string& start, fs::path& made, int& lock) {
    constexpr int most_attempts = 100;
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        made = place / (start + random_digits());
        if (::mkdir(made.c_str(), 0777) != 0) {
            if (errno == EEXIST) continue;
            return false;
        }
        lock = locked(made / unfinished_mark, O_CREAT);
        if (lock >= 0) return true;
        const int reason = errno;
        ::rmdir(made.c_str());
        errno = reason;
        if (reason != ENOENT) return false;
    }
    return false;
}

// The mark goes last: without it, nobody would know whose the rest is.
void remove_hidden(const fs::path& folder) {
    std::error_code error;
    for (const fs::path& name : names_in(folder))
        if (!is_mark(name)) fs::remove_all(folder / name, error);
    fs::remove_all(folder, error);
}

std::vector<StaleFolder> stale_folders(const fs::path& place, const std::string& start) {
    std::vector<StaleFolder> found;
    for (const fs::path& name : names_in(place)) {
        StaleFolder stale{.path = place / name};
        if (!name.string().starts_with(start) || !is_folder(stale.path)) continue;
        stale.replaced = is_there(stale.path / replaced_mark);
        if (stale.replaced || is_there(stale.path / unfinished_mark)) {
            stale.lock = locked(stale.path / (stale.replaced ? replaced_mark : unfinished_mark));
            if (stale.lock >= 0) found.push_back(std::move(stale));
        } else if (name.string().size() == start.size() + random_digits().size()) {
            ::rmdir(stale.path.c_str());  // where it is empty: killed before it had its mark
        }
    }
    return found;
}

int locked(const fs::path& path, int flags) {
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0666);
    if (file < 0 || ::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return file;
    ::close(file);
    return -1;
}

void unlock(int& file) {
    if (file >= 0) ::close(std::exchange(file, -1));
}

std::vector<fs::path> names_in(const fs::path& folder) {
    std::vector<fs::path> names;
    std::error_code error;
    for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
         entry.increment(error))
        names.push_back(entry->path().filename());
    return names;
}

bool is_there(const fs::path& path) {
    std::error_code error;
    return fs::exists(fs::symlink_status(path, error));
}

bool is_folder(const fs::path& path) {
    std::error_code error;
    return fs::is_directory(fs::symlink_status(path, error));
}

}  // namespace tessera::formats
