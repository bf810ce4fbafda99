#include "tessera/cli/terminal/terminal_text.h"

#include <fmt/format.h>
#include <unistd.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "tessera/cli/terminal/terminal.h"
#include "tessera/text/utf8.h"

namespace tessera::cli {
namespace {

// What follows turns letters around until it is taken back: a text could show the reverse of what it says.
bool turns_around(std::int32_t code) {
    return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

// Controls of ASCII and of Latin-1, among them U+009B, which begins an order as ESC [ does.
bool is_obeyed(std::int32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0) || turns_around(code); }

// How many bytes the character that begins with this one has; 1 where none can begin so.
std::size_t length_of(unsigned char lead) { return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1; }

// Where the last character begins if more of it may follow, or a carriage return that the end of a line may follow.
std::size_t end_of_whole(std::string_view text) {
    std::size_t begin = text.size();
    while (begin > 0 && text.size() - begin < 3 && text::continues_character(text[begin - 1])) --begin;
    if (begin == 0) return text.size();
    --begin;
    if (text[begin] == '\r' && begin + 1 == text.size()) return begin;
    return begin + length_of(static_cast<unsigned char>(text[begin])) > text.size() ? begin : text.size();
}

struct Forms {
    const char* byte;       // of a byte that belongs to no character
    const char* narrow;     // of a character below U+0100
    const char* character;  // of the others
};
constexpr Forms plain_forms{"\\x{:02x}", "\\x{:02x}", "\\u{:04x}"}, json_forms{"\\u{:04x}", "\\u{:04x}", "\\u{:04x}"};

std::string with_controls_written_out(std::string_view text, bool keep_lines, const Forms& forms = plain_forms) {
    std::string out;
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    for (std::size_t at = 0; at < text.size();) {
        utf8proc_int32_t code = 0;
        const auto length = utf8proc_iterate(bytes + at, static_cast<utf8proc_ssize_t>(text.size() - at), &code);
        const std::size_t count = length > 0 ? static_cast<std::size_t>(length) : 1;
        const bool ends_line = keep_lines && (code == '\n' || code == '\t' || text.substr(at).starts_with("\r\n"));
        if (length <= 0)
            out += fmt::format(fmt::runtime(forms.byte), bytes[at]);
        else if (ends_line || !is_obeyed(code))
            out += text.substr(at, count);
        else
            out += fmt::format(fmt::runtime(code < 0x100 ? forms.narrow : forms.character),
                               static_cast<std::uint32_t>(code));
        at += count;
    }
    return out;
}

}  // namespace

std::string harmless(std::string_view text) { return with_controls_written_out(text, true); }

std::string harmless_line(std::string_view text) { return with_controls_written_out(text, false); }

std::string for_terminal(const std::string& text) { return isatty(STDOUT_FILENO) ? harmless(text) : text; }

std::string json_for_terminal(const std::string& json) {
    return isatty(STDOUT_FILENO) ? with_controls_written_out(json, true, json_forms) : json;
}

TerminalText::TerminalText() : terminal_(isatty(STDOUT_FILENO)) {}

std::string TerminalText::add(std::string_view piece) {
    if (!terminal_) return std::string(piece);
    kept_ += piece;
    const std::size_t whole = end_of_whole(kept_);
    const std::string text = harmless(std::string_view(kept_).substr(0, whole));
    kept_.erase(0, whole);
    return text;
}

std::string TerminalText::finish() {
    const std::string text = harmless(kept_);
    kept_.clear();
    return text;
}

}  // namespace tessera::cli
