// A file that appears whole or not at all: written beside its place under a temporary name, made safe on the disk, and
// only then renamed. Whoever has the earlier file of that name mapped keeps it. While it is written it is locked, so
// that what a killed program has left is told from what another one is writing.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
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

void write_file(const std::filesystem::path& path, std::string_view text);
void copy_file(const std::filesystem::path& from, const std::filesystem::path& to);

// As the caller of an output_folder.h knows it: the hidden folder's name is not his.
std::string visible_path(const std::filesystem::path& path);

// ".NAME.1a2b3c4d.tessera-part", as no one else calls a file.
bool is_temporary_name(std::string_view name);
// Those that no living program is writing.
void remove_stale_temporaries(const std::filesystem::path& folder);

// What is in a folder under which names is on the disk, where the file system can do that for a folder.
void flush_folder(const std::filesystem::path& folder);
// Eight digits of chance, for names that no other program takes.
std::string random_digits();

}  // namespace tessera::formats
