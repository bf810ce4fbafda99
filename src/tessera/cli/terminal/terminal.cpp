#include "tessera/cli/terminal/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "tessera/cli/terminal/terminal_text.h"
#include "tessera/core/error.h"
#include "tessera/core/interruption.h"

namespace tessera::cli {
namespace {

std::string coloured(const char* code, const std::string& text) {
    return is_terminal() ? text_of("\033[", code, "m", text, "\033[0m") : text;
}

std::string three_digits(double number, const char* unit) {
    const int decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f}{}", number, decimals, unit);
}

}  // namespace

bool is_terminal() {
    static const bool answer = isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
    return answer;
}

bool is_error_terminal() {
    static const bool answer = isatty(STDERR_FILENO);
    return answer;
}

std::size_t terminal_columns(std::size_t elsewhere) {
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : elsewhere;
}

std::string green(const std::string& text) { return coloured("32", text); }
std::string red(const std::string& text) { return coloured("31", text); }
std::string bold(const std::string& text) { return coloured("1", text); }
std::string faint(const std::string& text) { return coloured("2", text); }

std::string one_line(const std::string& text) {
    constexpr std::size_t longest = 4000;
    const std::string line = harmless_line(std::string_view(text).substr(0, longest));
    return text.size() > longest ? line + "…" : line;
}

std::string with_separators(std::int64_t number) {
    std::string text = std::to_string(number);
    for (auto at = static_cast<std::int64_t>(text.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3)
        text.insert(text.begin() + at, ',');
    return text;
}

std::string counted(std::int64_t count, const char* noun) {
    return text_of(with_separators(count), " ", noun, count == 1 ? "" : "s");
}

std::string in_bytes(double bytes) {
    if (bytes < 1000) return text_of(std::lround(bytes), " B");
    for (const char* unit : {" kB", " MB", " GB"}) {
        bytes /= 1000;
        if (bytes < 1000) return three_digits(bytes, unit);
    }
    return three_digits(bytes / 1000, " TB");
}

namespace {

std::string in_thousands(double number, std::initializer_list<const char*> units) {
    for (const char* unit : units) {
        if (number < 999.5) return three_digits(number, unit);
        number /= 1000;
    }
    return three_digits(number * 1000, *(units.end() - 1));
}

}  // namespace

std::string in_powers(double number) { return in_thousands(number, {"", " k", " M", " B", " T"}); }
std::string in_metric(double number) { return in_thousands(number, {" ", " k", " M", " G", " T"}); }

Progress::Progress(std::string label, double total, std::string unit)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      total_(total),
      start_(std::chrono::steady_clock::now()),
      drawn_(start_) {}

Progress::~Progress() {
    if (visible_) std::fprintf(stderr, "\r\033[K");
}

void Progress::set(double done) {
    stop_if_asked();
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double since_drawn = std::chrono::duration<double>(now - drawn_).count();
    if (!is_error_terminal() || seconds < 2 || (visible_ && since_drawn < 0.1)) return;
    drawn_ = now;
    visible_ = true;
    draw(done, seconds);
}

void Progress::draw(double done, double seconds) {
    const double share = total_ > 0 ? std::clamp(done / total_, 0.0, 1.0) : 0;
    const double left = share > 0 ? seconds * (1 - share) / share : 0;
    const auto filled = static_cast<int>(share * 30);
    std::string bar;
    for (int i = 0; i < 30; ++i) bar += i < filled ? "█" : "░";
    const std::string rate =
        unit_ == "B" ? in_bytes(done / seconds) : three_digits(done / seconds, text_of(" ", unit_).c_str());
    std::fprintf(stderr, "\r\033[K%s %s %3.0f %%  %s/s  %.0f s left", label_.c_str(), bar.c_str(), share * 100,
                 rate.c_str(), left);
    std::fflush(stderr);
}

}  // namespace tessera::cli
