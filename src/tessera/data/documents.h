// Texts from files: a .txt file is one document, a .jsonl file one per line (an object with a "text" member, or a plain
// string), a folder all such files in it, by name.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::data {

struct DocumentOptions {
    std::string field = "text";  // the member of a JSON line
    std::string separator = {};  // cuts a .txt file into documents where it stands; empty: one document
    std::function<void(std::int64_t bytes)> on_read = {};  // how far reading has come
};

// The files that a list of files and folders stands for. An empty list, a missing file or a folder without texts is an
// error.
std::vector<std::filesystem::path> text_files(const std::vector<std::string>& files_and_folders);
std::int64_t bytes_of_files(const std::vector<std::filesystem::path>& files);

// Calls body for every document that is not empty. The text is gone after the call. What is not UTF-8 is an error that
// names the file and the line.
void for_each_document(const std::vector<std::filesystem::path>& files, const DocumentOptions& options,
                       const std::function<void(std::string_view text)>& body);

}  // namespace tessera::data
