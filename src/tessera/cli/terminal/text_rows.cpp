#include "tessera/cli/terminal/text_rows.h"

#include <utf8proc.h>

#include <algorithm>

namespace tessera::cli {
namespace {

struct Character {
    std::string shown;
    int width;
    std::size_t bytes;
};

Character character_at(const std::string& text, std::size_t at) {
    if (text[at] == '\t') return {"    ", 4, 1};
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    utf8proc_int32_t code = 0;
    const auto length = utf8proc_iterate(bytes + at, static_cast<utf8proc_ssize_t>(text.size() - at), &code);
    if (length <= 0) return {"\xef\xbf\xbd", 1, 1};  // no UTF-8
    const auto count = static_cast<std::size_t>(length);
    return {text.substr(at, count), std::max(0, utf8proc_charwidth(code)), count};
}

int width_of(const std::string& text) {
    int width = 0;
    for (std::size_t at = 0; at < text.size();) {
        const Character character = character_at(text, at);
        width += character.width;
        at += character.bytes;
    }
    return width;
}

}  // namespace

TextRows rows_of(const std::string& text, std::size_t cursor, const std::string& prompt, int columns) {
    constexpr int narrowest = 4;  // a tab
    const int indent = width_of(prompt), most = std::max(columns - 1, indent + narrowest);
    TextRows out{.rows = {prompt}, .widths = {indent}, .cursor_column = indent};
    const auto begin_row = [&] {
        out.rows.emplace_back(static_cast<std::size_t>(indent), ' ');
        out.widths.push_back(indent);
    };
    const auto set_cursor = [&] {
        out.cursor_row = out.rows.size() - 1;
        out.cursor_column = out.widths.back();
    };
    for (std::size_t at = 0; at < text.size();) {
        const Character character = text[at] == '\n' ? Character{"", 0, 1} : character_at(text, at);
        if (out.widths.back() + character.width > most) begin_row();
        if (at == cursor) set_cursor();
        if (text[at] == '\n') begin_row();
        out.rows.back() += character.shown;
        out.widths.back() += character.width;
        at += character.bytes;
    }
    if (cursor >= text.size()) set_cursor();
    return out;
}

}  // namespace tessera::cli
