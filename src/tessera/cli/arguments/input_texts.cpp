#include "tessera/cli/arguments/input_texts.h"

#include <iostream>
#include <sstream>

#include "tessera/core/error.h"
#include "tessera/core/mapped_file.h"
#include "tessera/text/utf8.h"

namespace tessera::cli {
namespace {

// Binary data are no text, whatever a tokenizer would make of them.
void check_text(const std::string& text, const std::string& where) {
    check(text::is_valid_utf8(text) && text.find('\0') == text.npos, where, ": is no text: expected UTF-8");
}

void add_lines(std::istream& in, const std::string& source, std::vector<std::string>& texts) {
    std::int64_t number = 0;
    for (std::string line; std::getline(in, line);) {
        check_text(line, text_of(source, ": line ", ++number));
        if (line.ends_with('\r')) line.pop_back();
        texts.push_back(std::move(line));
    }
}

std::string whole_text(const std::string& path) {
    const MappedFile file(path);
    return {reinterpret_cast<const char*>(file.data()), file.bytes()};
}

}  // namespace

std::vector<std::string> input_texts(const std::vector<std::string>& given, const std::vector<std::string>& files) {
    std::vector<std::string> texts;
    for (const std::string& text : given) {
        if (text == "-") {
            add_lines(std::cin, "standard input", texts);
            continue;
        }
        check_text(text, text_of("text ", texts.size() + 1));
        texts.push_back(text);
    }
    for (const std::string& path : files) {
        std::istringstream lines(whole_text(path));
        add_lines(lines, path, texts);
    }
    return texts;
}

std::string file_text(const std::string& path) {
    std::string text = whole_text(path);
    check_text(text, path);
    if (text.ends_with('\n')) text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
    return text;
}

}  // namespace tessera::cli
