// A file mapped into memory; a small one is read, which looks the same. Pages are copy-on-write: a tensor over it may
// be written to without touching the file.
#pragma once

#include <cstddef>
#include <filesystem>

namespace tessera {

class MappedFile {
   public:
    explicit MappedFile(const std::filesystem::path& path);  // throws naming the path
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::byte* data() const { return static_cast<std::byte*>(data_); }
    std::size_t bytes() const { return bytes_; }

   private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace tessera
