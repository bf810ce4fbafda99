#include "tessera/core/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tessera/core/error.h"
#include "tessera/core/mapped_ranges.h"

namespace tessera {
namespace {

// Up to here a file is read at once: then nothing that happens to it later matters.
constexpr std::size_t most_read = std::size_t{1} << 20;

struct OpenFile {
    explicit OpenFile(const std::filesystem::path& path)
        // Without O_NONBLOCK a pipe of that name would keep us waiting for its writer.
        : number(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
        check(number >= 0, path.string(), ": cannot open: ", std::strerror(errno));
    }
    ~OpenFile() { ::close(number); }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;

    const int number;
};

void read_all(const OpenFile& file, void* to, std::size_t bytes, const std::string& name) {
    for (std::size_t done = 0; done < bytes;) {
        const ssize_t count = ::read(file.number, static_cast<std::byte*>(to) + done, bytes - done);
        if (count < 0 && errno == EINTR) continue;
        check(count >= 0, name, ": cannot read: ", std::strerror(errno));
        check(count > 0, name, ": was cut short while it was read");
        done += static_cast<std::size_t>(count);
    }
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
    const std::string name = path.string();
    check(name.find('\0') == name.npos, name.substr(0, name.find('\0')), ": the path goes on after a zero byte");
    const OpenFile file(path);
    struct stat status {};
    check(::fstat(file.number, &status) == 0 && S_ISREG(status.st_mode), name, ": not a regular file");
    if (status.st_size <= 0) return;
    bytes_ = static_cast<std::size_t>(status.st_size);
    const bool is_read = bytes_ <= most_read;
    // Nothing is reserved for pages that are never written, so that weights larger than memory can be mapped.
    const int flags = MAP_PRIVATE | (is_read ? MAP_ANONYMOUS : MAP_NORESERVE);
    data_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, flags, is_read ? -1 : file.number, 0);
    if (data_ == MAP_FAILED) {
        data_ = nullptr;
        fail(name, ": cannot map: ", std::strerror(errno));
    }
    if (!is_read) {
        add_mapped_range(data_, bytes_, name);
        return;
    }
    try {
        read_all(file, data_, bytes_, name);
    } catch (const Error&) {
        ::munmap(data_, bytes_);
        throw;
    }
}

MappedFile::~MappedFile() {
    if (data_ == nullptr) return;
    if (bytes_ > most_read) remove_mapped_range(data_);
    ::munmap(data_, bytes_);
}

}  // namespace tessera
