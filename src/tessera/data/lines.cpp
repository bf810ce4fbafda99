#include "tessera/data/lines.h"

#include <algorithm>

#include "tessera/core/error.h"
#include "tessera/formats/binary_data.h"
#include "tessera/formats/find_file.h"

namespace tessera::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
constexpr std::size_t longest_line = std::size_t{64} << 20;

}  // namespace

Lines::Lines(const std::vector<fs::path>& files) {
    std::string names;
    for (const fs::path& path : files) {
        names += text_of(names.empty() ? "" : ", ", path.string());
        files_.push_back({path, std::make_unique<MappedFile>(path)});
        index(files_.back(), static_cast<std::uint32_t>(files_.size() - 1));
    }
    check(!places_.empty(), names, ": no line of text");
}

void Lines::index(const File& file, std::uint32_t number) {
    const std::string_view all(reinterpret_cast<const char*>(file.content->data()), file.content->bytes());
    formats::check_is_text(all, file.path.string());
    std::size_t at = all.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
    for (std::uint32_t line = 1; at < all.size(); ++line) {
        const std::size_t end = std::min(all.find('\n', at), all.size());
        std::string_view text = all.substr(at, end - at);
        if (text.ends_with('\r')) text.remove_suffix(1);
        check(text.size() <= longest_line, file.path.string(), ": line ", line, " has ", text.size(),
              " bytes; is this a text file?");
        if (text.find_first_not_of(" \t") != text.npos)
            places_.push_back({at, static_cast<std::uint32_t>(text.size()), number, line});
        at = end + 1;
    }
}

std::string_view Lines::text(std::int64_t index) const {
    const Place& found = place(index);
    return {reinterpret_cast<const char*>(files_[found.file].content->data()) + found.begin, found.length};
}

std::string Lines::where(std::int64_t index) const {
    return text_of(file(index).string(), ": line ", place(index).number);
}

std::vector<fs::path> files_ending(const std::vector<std::string>& files_and_folders,
                                   std::initializer_list<const char*> endings) {
    std::string wanted;
    for (const char* ending : endings) wanted += text_of(wanted.empty() ? "" : " or ", ending);
    std::vector<fs::path> files;
    for (const std::string& name : files_and_folders) {
        std::error_code error;
        formats::check_exists(name);
        if (!fs::is_directory(name, error)) {
            files.emplace_back(name);
            continue;
        }
        std::vector<fs::path> found;
        for (const fs::path& path : formats::files_below(name))
            if (std::any_of(endings.begin(), endings.end(),
                            [&](const char* ending) { return path.extension() == ending; }))
                found.push_back(path);
        check(!found.empty(), name, ": no ", wanted, " file in this folder");
        files.insert(files.end(), found.begin(), found.end());
    }
    check(!files.empty(), "no ", wanted, " files given");
    return files;
}

bool is_json_lines(const fs::path& file) { return file.extension() == ".jsonl" || file.extension() == ".ndjson"; }

}  // namespace tessera::data
