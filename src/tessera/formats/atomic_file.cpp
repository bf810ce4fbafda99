#include "tessera/formats/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tessera/core/error.h"

namespace tessera::formats {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_bytes_at_once = std::size_t{1} << 30;  // Linux writes no more than 2 GiB in one call
constexpr std::string_view suffix = ".tessera-part";
constexpr std::size_t digits = 8;

fs::path temporary_name(const fs::path& path) {
    constexpr std::size_t longest = 200;  // of the name's part: file systems allow 255 bytes in all
    return path.parent_path() / text_of(".", path.filename().string().substr(0, longest), ".", random_digits(), suffix);
}

// Locked from its first moment; −1 with errno where it cannot be made.
int create_locked(const fs::path& path, fs::path& temporary) {
    constexpr int most_attempts = 100;
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        temporary = temporary_name(path);
        const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0 && errno == EEXIST) continue;
        if (file < 0) return file;
        ::flock(file, LOCK_EX | LOCK_NB);  // where a file system has no locks, others' cleaning fails alike
        struct stat status {};
        // Between its making and its locking another program may have taken it for a stale one.
        if (::fstat(file, &status) == 0 && status.st_nlink > 0) return file;
        ::close(file);
    }
    errno = EEXIST;
    return -1;
}

// Looks into each folder once: a program that writes many files there does not list them each time.
void remove_stale_temporaries_once(const fs::path& folder) {
    static std::mutex mutex;
    static std::set<fs::path> seen;
    std::error_code error;
    const fs::path place = fs::absolute(folder.empty() ? "." : folder, error);
    {
        const std::lock_guard lock(mutex);
        constexpr std::size_t most_remembered = 1000;
        if (seen.size() > most_remembered) seen.clear();
        if (!seen.insert(place).second) return;
    }
    remove_stale_temporaries(place);
}

// A rename would put a file in the place of a device, a pipe or a socket.
void check_replaceable(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    check(!fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status), path.string(),
          ": is a device, a pipe or a socket, and no place for a file");
    const fs::path home = fs::weakly_canonical(fs::absolute(path, error).parent_path(), error);
    const bool is_system = home == "/dev" || home.string().starts_with("/proc/") || home.string().starts_with("/sys/");
    check(!is_system, path.string(), ": is no place for a file");
}

}  // namespace

std::string visible_path(const fs::path& path) {
    constexpr std::string_view hidden = ".tessera-";
    fs::path known;
    for (const fs::path& part : path) {
        const std::string name = part;
        const std::size_t at = name.rfind(hidden);
        const bool is_hidden = name.starts_with('.') && at != name.npos && at + hidden.size() + digits == name.size();
        if (!is_hidden)
            known /= part;
        else if (at > 0)
            known /= name.substr(1, at - 1);
    }
    return known.string();
}

std::string random_digits() {
    static std::mutex mutex;
    static std::random_device chance;
    const std::lock_guard lock(mutex);
    return fmt::format("{:0{}x}", chance(), digits);
}

bool is_temporary_name(std::string_view name) {
    if (name.size() < 2 + digits + suffix.size() || name[0] != '.' || !name.ends_with(suffix)) return false;
    name.remove_suffix(suffix.size());
    const std::string_view number = name.substr(name.size() - digits);
    return name[name.size() - digits - 1] == '.' && number.find_first_not_of("0123456789abcdef") == number.npos;
}

void remove_stale_temporaries(const fs::path& folder) {
    std::error_code error;
    std::vector<fs::path> found;
    for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
         entry.increment(error))
        if (is_temporary_name(entry->path().filename().string())) found.push_back(entry->path());
    for (const fs::path& path : found) {
        const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (file < 0) continue;
        struct stat status {};
        const bool regular = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
        if (regular && ::flock(file, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
        ::close(file);
    }
}

void flush_folder(const fs::path& folder) {
    const int file = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return;
    ::fsync(file);
    ::close(file);
}

AtomicFile::AtomicFile(const fs::path& path) : path_(path) {
    check_replaceable(path);
    remove_stale_temporaries_once(path.parent_path());
    file_ = create_locked(path, temporary_);
    if (file_ < 0) fail_with_errno("cannot create");
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::exchange(other.file_, -1)) {}

AtomicFile::~AtomicFile() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    if (file_ >= 0) ::close(file_);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file_, bytes.data(), std::min(bytes.size(), most_bytes_at_once));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail_with_errno("cannot write");
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
}

// It stays open, and so locked, until it has its name.
void AtomicFile::finish() {
    if (::fsync(file_) != 0) fail_with_errno("cannot write");
}

void AtomicFile::commit() {
    finish();
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_with_errno("cannot rename the finished file");
    temporary_.clear();
    if (::close(std::exchange(file_, -1)) != 0) fail_with_errno("cannot write");
    flush_folder(path_.parent_path());
}

void AtomicFile::fail_with_errno(const char* what) const {
    fail(visible_path(path_), ": ", what, ": ", std::strerror(errno));
}

void write_file(const fs::path& path, std::string_view text) {
    AtomicFile file(path);
    file.write(text);
    file.commit();
}

void copy_file(const fs::path& from, const fs::path& to) {
    const int file = ::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    check(file >= 0, from.string(), ": cannot open: ", std::strerror(errno));
    try {
        AtomicFile copy(to);
        std::vector<std::byte> buffer(1 << 20);
        for (ssize_t bytes = 0; (bytes = ::read(file, buffer.data(), buffer.size())) != 0;) {
            if (bytes < 0 && errno == EINTR) continue;
            check(bytes > 0, from.string(), ": cannot read: ", std::strerror(errno));
            copy.write(std::span(buffer).first(static_cast<std::size_t>(bytes)));
        }
        copy.commit();
    } catch (...) {
        ::close(file);
        throw;
    }
    ::close(file);
}

}  // namespace tessera::formats
