// A file that appears whole or not at all: written beside its place under a temporary name, made safe on the disk, and
// only then renamed. Whoever has the earlier file of that name mapped keeps it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace tessera::formats {

class AtomicFile {
   public:
    explicit AtomicFile(const std::filesystem::path& path);  // throws naming the path, as every call here
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    ~AtomicFile();  // without commit, nothing is left behind

    void write(std::span<const std::byte> bytes);
    void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
    void finish();  // all bytes are on the disk, still under the temporary name
    void commit();  // finish and rename

   private:
    [[noreturn]] void fail_with_errno(const char* what) const;

    std::filesystem::path path_;
    std::filesystem::path temporary_;  // empty once renamed
    int file_ = -1;
};

}  // namespace tessera::formats
