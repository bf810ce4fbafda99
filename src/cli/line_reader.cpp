#include "cli/line_reader.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <utf8proc.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iostream>

namespace tessera::cli {
namespace {

// Keys come one by one and unechoed while it lives.
class RawTerminal {
   public:
    RawTerminal() {
        tcgetattr(STDIN_FILENO, &before_);
        termios raw = before_;
        raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
        raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    }
    ~RawTerminal() { tcsetattr(STDIN_FILENO, TCSADRAIN, &before_); }
    RawTerminal(const RawTerminal&) = delete;
    RawTerminal& operator=(const RawTerminal&) = delete;

   private:
    termios before_;
};

int columns() {
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

struct Character {
    std::size_t begin, end;
    int width;
};

std::vector<Character> characters_of(const std::string& text) {
    std::vector<Character> found;
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    for (std::size_t at = 0; at < text.size();) {
        utf8proc_int32_t code = 0;
        const auto length = utf8proc_iterate(bytes + at, static_cast<utf8proc_ssize_t>(text.size() - at), &code);
        const std::size_t count = length > 0 ? static_cast<std::size_t>(length) : 1;
        found.push_back({at, at + count, length > 0 ? std::max(0, utf8proc_charwidth(code)) : 1});
        at += count;
    }
    return found;
}

int width_of(const std::string& text) {
    int width = 0;
    for (const Character& character : characters_of(text)) width += character.width;
    return width;
}

void write_all(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

std::optional<char> read_byte() {
    while (true) {
        char byte = 0;
        const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
        if (count == 1) return byte;
        if (count < 0 && errno == EINTR) continue;
        return std::nullopt;
    }
}

}  // namespace

LineReader::LineReader() : interactive_(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {}

std::optional<std::string> LineReader::read(const std::string& prompt) {
    if (!interactive_) {
        std::string line;
        if (!std::getline(std::cin, line)) return std::nullopt;
        if (!line.empty() && line.back() == '\r') line.pop_back();
        return line;
    }
    const RawTerminal raw;
    draw(prompt);
    while (true) {
        const std::optional<std::string> key = read_key();
        if (!key) return std::nullopt;
        const EditedLine::State state = line_.press(*key);
        if (state == EditedLine::State::editing) {
            draw(prompt);
            continue;
        }
        write_all("\r\n");
        if (state == EditedLine::State::ended) return std::nullopt;
        if (state == EditedLine::State::done) return line_.take();
        line_.take();
        return "";
    }
}

// A whole character or escape sequence.
std::optional<std::string> LineReader::read_key() const {
    const std::optional<char> first = read_byte();
    if (!first) return std::nullopt;
    std::string key(1, *first);
    const auto add = [&] {
        const std::optional<char> next = read_byte();
        if (next) key += *next;
        return next.has_value();
    };
    const auto lead = static_cast<unsigned char>(*first);
    if (lead == 0x1b) {
        if (!add()) return key;
        if (key[1] != '[' && key[1] != 'O') return key;
        while (add() && !(key.back() >= '@' && key.back() <= '~'))
            ;
        return key;
    }
    const int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    for (int i = 0; i < more && add(); ++i)
        ;
    return key;
}

// The part of the line around the cursor that fits beside the prompt.
void LineReader::draw(const std::string& prompt) const {
    const std::string& text = line_.text();
    const std::vector<Character> characters = characters_of(text);
    const int room = std::max(8, columns() - width_of(prompt) - 1);
    std::size_t cursor = 0;
    while (cursor < characters.size() && characters[cursor].begin < line_.cursor()) ++cursor;
    std::size_t begin = cursor, end = cursor;
    int left = 0, width = 0;  // of what is shown before the cursor, and in all
    while (begin > 0 && left + characters[begin - 1].width < room) left += characters[--begin].width;
    width = left;
    while (end < characters.size() && width + characters[end].width <= room) width += characters[end++].width;
    const std::size_t first = begin < characters.size() ? characters[begin].begin : text.size();
    const std::size_t last = end < characters.size() ? characters[end].begin : text.size();
    std::string out = "\r" + prompt + text.substr(first, last - first) + "\033[K\r";
    const int column = width_of(prompt) + left;
    if (column > 0) out += "\033[" + std::to_string(column) + "C";
    write_all(out);
}

}  // namespace tessera::cli
