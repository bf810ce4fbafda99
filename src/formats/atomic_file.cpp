#include "formats/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace tessera::formats {
namespace {

constexpr std::size_t most_bytes_at_once = std::size_t{1} << 30;  // Linux writes no more than 2 GiB in one call

std::filesystem::path temporary_name(const std::filesystem::path& path) {
    static std::atomic<int> count{0};
    return path.parent_path() / text_of(".", path.filename().string(), ".", ::getpid(), ".", ++count, ".tmp");
}

// A rename is safe only once its folder is on the disk. Some file systems cannot do that for a folder; then it is up to
// them.
void flush_folder(const std::filesystem::path& folder) {
    const int file = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return;
    ::fsync(file);
    ::close(file);
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path), temporary_(temporary_name(path)) {
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0) fail_with_errno("cannot create");
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::exchange(other.file_, -1)) {}

AtomicFile::~AtomicFile() {
    if (file_ >= 0) ::close(file_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file_, bytes.data(), std::min(bytes.size(), most_bytes_at_once));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail_with_errno("cannot write");
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
}

void AtomicFile::finish() {
    if (file_ < 0) return;
    if (::fsync(file_) != 0) fail_with_errno("cannot write");
    if (::close(std::exchange(file_, -1)) != 0) fail_with_errno("cannot write");
}

void AtomicFile::commit() {
    finish();
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_with_errno("cannot rename the finished file");
    temporary_.clear();
    flush_folder(path_.parent_path());
}

void AtomicFile::fail_with_errno(const char* what) const {
    fail(path_.string(), ": ", what, ": ", std::strerror(errno));
}

}  // namespace tessera::formats
