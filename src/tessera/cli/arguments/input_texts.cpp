#include "tessera/cli/arguments/input_texts.h"

#include "tessera/cli/arguments/text_file.h"
#include "tessera/core/error.h"
#include "tessera/text/utf8.h"

namespace tessera::cli {
namespace {

// Binary data are no text, whatever a tokenizer would make of them.
void check_text(const std::string& text, const std::string& where) {
    check(text::is_valid_utf8(text), where, ": is no text: expected UTF-8");
}

void add_lines(const std::string& path, std::vector<std::string>& texts) {
    const TextFile file(path);
    for (std::string_view rest = file.text(); !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        texts.emplace_back(line);
    }
}

}  // namespace

std::vector<std::string> input_texts(const std::vector<std::string>& given, const std::vector<std::string>& files) {
    std::vector<std::string> texts;
    for (const std::string& text : given) {
        if (text == "-") {
            add_lines(text, texts);
            continue;
        }
        check_text(text, text_of("text ", texts.size() + 1));
        texts.push_back(text);
    }
    for (const std::string& path : files) add_lines(path, texts);
    return texts;
}

std::string one_text(const std::vector<std::string>& given, const std::vector<std::string>& files) {
    if (given.empty()) return file_text(files.at(0));
    if (given[0] == "-") return std::string(TextFile("-").text());
    check_text(given[0], "TEXT");
    return given[0];
}

std::string file_text(const std::string& path) {
    std::string text(TextFile(path).text());
    if (text.ends_with('\n')) text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
    return text;
}

}  // namespace tessera::cli
