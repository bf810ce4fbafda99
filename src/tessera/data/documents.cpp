#include "tessera/data/documents.h"

#include <algorithm>

#include "tessera/core/error.h"
#include "tessera/core/mapped_file.h"
#include "tessera/data/lines.h"
#include "tessera/formats/binary_data.h"
#include "tessera/formats/json.h"
#include "tessera/text/utf8.h"

namespace tessera::data {
namespace {

namespace fs = std::filesystem;

std::int64_t size_of(const fs::path& file) {
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(file, error);
    check(!error, file.string(), ": ", error.message());
    return static_cast<std::int64_t>(bytes);
}

// Calls body with each piece between separators.
void cut(std::string_view text, std::string_view separator, const std::function<void(std::string_view)>& body) {
    while (true) {
        const std::size_t end = separator.empty() ? text.npos : text.find(separator);
        const std::string_view piece = text.substr(0, end);
        if (!piece.empty()) body(piece);
        if (end == text.npos) return;
        text.remove_prefix(end + separator.size());
    }
}

// `all` is the whole file, that its lines are counted in.
void check_is_utf8(std::string_view text, std::string_view all, const fs::path& path) {
    if (text::is_valid_utf8(text)) return;
    std::size_t at = 0;
    for (text::Utf8Step step; (step = text::utf8_step(text.substr(at))).kind == text::Utf8Step::Whole;)
        at += step.length;
    const std::string_view before = all.substr(0, static_cast<std::size_t>(text.data() + at - all.data()));
    fail(path.string(), ": line ", std::count(before.begin(), before.end(), '\n') + 1, ": byte ", before.size() + 1,
         " is not UTF-8; `iconv -f LATIN1 -t UTF-8` converts a text, where that is what it is in");
}

std::string document_in(std::string_view line, const std::string& field, const std::string& source) {
    const formats::Json value = formats::Json::parse(line, source);
    if (value.is_string()) return value.as_string();
    check(value.is_object(), source, ": expected an object or a string, found ", value);
    const formats::Json* text = value.find(field);
    check(text && text->is_string(), source, ": no text under \"", field, "\"");
    return text->as_string();
}

}  // namespace

std::vector<fs::path> text_files(const std::vector<std::string>& files_and_folders) {
    return files_ending(files_and_folders, {".txt", ".text", ".md", ".jsonl", ".ndjson"});
}

std::int64_t bytes_of_files(const std::vector<fs::path>& files) {
    std::int64_t bytes = 0;
    for (const fs::path& file : files) bytes += size_of(file);
    return bytes;
}

void for_each_document(const std::vector<fs::path>& files, const DocumentOptions& options,
                       const std::function<void(std::string_view text)>& body) {
    std::int64_t before = 0;
    for (const fs::path& path : files) {
        if (size_of(path) == 0) continue;
        const MappedFile file(path);
        const std::string_view all(reinterpret_cast<const char*>(file.data()), file.bytes());
        formats::check_is_text(all, path.string());
        std::int64_t line_number = 0;
        const auto told = [&](std::string_view rest) {
            if (options.on_read)
                options.on_read(before + (rest.data() - all.data()) + static_cast<std::int64_t>(rest.size()));
        };
        if (is_json_lines(path))
            cut(all, "\n", [&](std::string_view line) {
                ++line_number;
                check_is_utf8(line, all, path);
                if (line.find_first_not_of(" \t\r") == line.npos) return;
                const std::string text =
                    document_in(line, options.field, text_of(path.string(), ": line ", line_number));
                if (!text.empty()) body(text);
                told(line);
            });
        else
            cut(all, options.separator, [&](std::string_view text) {
                check_is_utf8(text, all, path);
                body(text);
                told(text);
            });
        before += static_cast<std::int64_t>(file.bytes());
    }
}

}  // namespace tessera::data
