#include "tessera/cli/terminal/line_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "tessera/cli/terminal/text_rows.h"
#include "tessera/core/error.h"

namespace tessera::cli {
namespace {

constexpr const char *paste_begins = "\033[200~", *paste_ends = "\033[201~";

// A pipe with a byte for each new size of the window: whichever thread the signal reaches, and however early, whoever
// waits for a key is woken.
int resizes[2] = {-1, -1};

void write_all(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

// While it lives keys come one by one and unechoed, a paste stands between marks, and a new size of the window wakes
// whoever reads.
class RawTerminal {
   public:
    RawTerminal() {
        if (resizes[0] < 0) check(pipe2(resizes, O_CLOEXEC | O_NONBLOCK) == 0, "no pipe can be had");
        tcgetattr(STDIN_FILENO, &before_);
        termios raw = before_;
        raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
        raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
        struct sigaction action {};
        action.sa_handler = [](int) { [[maybe_unused]] const ssize_t written = ::write(resizes[1], "", 1); };
        sigaction(SIGWINCH, &action, &resize_before_);
        const char* name = std::getenv("TERM");
        marks_ = name != nullptr && std::string_view(name) != "dumb";
        if (marks_) write_all("\033[?2004h");
    }
    ~RawTerminal() {
        if (marks_) write_all("\033[?2004l");
        sigaction(SIGWINCH, &resize_before_, nullptr);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
    }
    RawTerminal(const RawTerminal&) = delete;
    RawTerminal& operator=(const RawTerminal&) = delete;

   private:
    termios before_;
    struct sigaction resize_before_ {};
    bool marks_ = false;
};

struct ScreenSize {
    int columns = 80, rows = 24;
};

ScreenSize screen_size() {
    winsize size{};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    return known ? ScreenSize{size.ws_col, size.ws_row} : ScreenSize{};
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
    prompt_ = prompt;
    drawn_.clear();
    draw();
    while (true) {
        const std::optional<std::string> key = next_key();
        if (!key) return std::nullopt;
        EditedLine::State state = EditedLine::State::Editing;
        if (*key == paste_begins)
            line_.paste(rest_of_paste());
        else
            state = line_.press(*key);
        if (state == EditedLine::State::Editing) {
            if (!more_is_waiting()) draw();
            continue;
        }
        draw();
        write_all(std::string(drawn_.size() - 1 - cursor_row_, '\n') + "\r\n");
        if (state == EditedLine::State::Ended) return std::nullopt;
        if (state == EditedLine::State::Done) return line_.take();
        line_.take();
        return "";
    }
}

std::optional<char> LineReader::next_byte() {
    while (waiting_.empty()) {
        pollfd inputs[] = {{STDIN_FILENO, POLLIN, 0}, {resizes[0], POLLIN, 0}};
        if (poll(inputs, 2, -1) < 0 && errno != EINTR) return std::nullopt;
        if (inputs[1].revents != 0) draw();
        if (inputs[0].revents == 0) continue;
        char bytes[4096];
        const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
        if (count > 0) waiting_.assign(bytes, static_cast<std::size_t>(count));
        if (count == 0 || (count < 0 && errno != EINTR)) return std::nullopt;
    }
    const char byte = waiting_.front();
    waiting_.erase(0, 1);
    return byte;
}

bool LineReader::more_is_waiting() const {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    return !waiting_.empty() || poll(&input, 1, 0) > 0;
}

// A whole character or escape sequence.
std::optional<std::string> LineReader::next_key() {
    const std::optional<char> first = next_byte();
    if (!first) return std::nullopt;
    std::string key(1, *first);
    const auto add = [&] {
        const std::optional<char> next = next_byte();
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

std::string LineReader::rest_of_paste() {
    std::string text;
    while (!text.ends_with(paste_ends)) {
        const std::optional<char> byte = next_byte();
        if (!byte) return text;
        text += *byte;
    }
    text.resize(text.size() - std::string_view(paste_ends).size());
    return text;
}

// Over what was drawn before. Of a text that is taller than the screen, the part around the cursor.
void LineReader::draw() {
    for (char sizes[64]; ::read(resizes[0], sizes, sizeof sizes) > 0;)
        ;
    const ScreenSize screen = screen_size();
    const TextRows text = rows_of(line_.text(), line_.cursor(), prompt_, screen.columns);
    const std::size_t room = std::max<std::size_t>(1, static_cast<std::size_t>(screen.rows));
    const std::size_t shown = std::min(room, text.rows.size());
    const std::size_t top = std::min(text.cursor_row, text.rows.size() - shown);

    // A narrower window has broken the rows that no longer fit it.
    int above = static_cast<int>(cursor_row_);
    if (!drawn_.empty() && screen.columns != columns_) {
        above = cursor_column_ / screen.columns;
        for (std::size_t row = 0; row < cursor_row_; ++row)
            above += std::max(1, (drawn_[row] + screen.columns - 1) / screen.columns);
    }
    std::string out;
    if (!drawn_.empty() && above > 0) out += text_of("\033[", above, "A");
    out += "\r";
    for (std::size_t row = top; row < top + shown; ++row)
        out += text_of(row == top ? "" : "\033[K\r\n", text.rows[row]);
    out += "\033[J\r";
    const std::size_t below = top + shown - 1 - text.cursor_row;
    if (below > 0) out += text_of("\033[", below, "A");
    if (text.cursor_column > 0) out += text_of("\033[", text.cursor_column, "C");
    write_all(out);

    drawn_.assign(text.widths.begin() + static_cast<std::ptrdiff_t>(top),
                  text.widths.begin() + static_cast<std::ptrdiff_t>(top + shown));
    cursor_row_ = text.cursor_row - top;
    cursor_column_ = text.cursor_column;
    columns_ = screen.columns;
}

}  // namespace tessera::cli
