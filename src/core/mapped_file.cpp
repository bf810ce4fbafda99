#include "core/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace tessera {

MappedFile::MappedFile(const std::filesystem::path& path) {
    // Without O_NONBLOCK a pipe of that name would keep us waiting for its writer.
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    check(file >= 0, path.string(), ": cannot open: ", std::strerror(errno));
    struct stat status {};
    const bool regular = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    if (regular && status.st_size > 0) {
        bytes_ = static_cast<std::size_t>(status.st_size);
        // Nothing is reserved for pages that are never written, so that weights larger than memory can be mapped.
        data_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0);
    }
    const int mapping_error = errno;
    ::close(file);
    check(regular, path.string(), ": not a regular file");
    check(data_ != MAP_FAILED, path.string(), ": cannot map: ", std::strerror(mapping_error));
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace tessera
