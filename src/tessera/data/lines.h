// Text files line by line, without holding them: the files are mapped, and only where each line begins is kept. Blank
// lines are passed over; a line may end in LF or CRLF.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/core/mapped_file.h"

namespace tessera::data {

class Lines {
   public:
    explicit Lines(const std::vector<std::filesystem::path>& files);  // throws where there is no line at all

    std::int64_t size() const { return static_cast<std::int64_t>(places_.size()); }
    std::string_view text(std::int64_t index) const;
    std::string where(std::int64_t index) const;  // "FILE: line N"
    const std::filesystem::path& file(std::int64_t index) const { return files_[place(index).file].path; }

   private:
    struct File {
        std::filesystem::path path;
        std::unique_ptr<MappedFile> content;
    };
    struct Place {
        std::uint64_t begin;
        std::uint32_t length, file, number;
    };
    const Place& place(std::int64_t index) const { return places_[static_cast<std::size_t>(index)]; }
    void index(const File& file, std::uint32_t number);

    std::vector<File> files_;
    std::vector<Place> places_;
};

// The files that a list of files and folders stands for: a folder is all files in it that end so, by name. A missing
// file or a folder without such files is an error.
std::vector<std::filesystem::path> files_ending(const std::vector<std::string>& files_and_folders,
                                                std::initializer_list<const char*> endings);

bool is_json_lines(const std::filesystem::path& file);  // .jsonl or .ndjson

}  // namespace tessera::data
