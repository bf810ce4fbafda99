// Output for people: colours and progress on a terminal, plain text elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tessera::cli {

bool is_terminal();        // standard output
bool is_error_terminal();  // standard error

// How many characters a line of the terminal has; `elsewhere` where standard output is none.
std::size_t terminal_columns(std::size_t elsewhere);

// Wrapped in the colour on a terminal, unchanged elsewhere.
std::string green(const std::string& text);
std::string red(const std::string& text);
std::string bold(const std::string& text);
std::string faint(const std::string& text);

// Text that may come from a stranger's file: control characters are written out, so that it stays one line and gives a
// terminal no orders, and what is very long is cut.
std::string one_line(const std::string& text);

std::string with_separators(std::int64_t number);           // 6,738,415,616
std::string counted(std::int64_t count, const char* noun);  // "1 token", "2,048 tokens"
std::string in_bytes(double bytes);                         // 13.5 GB
std::string in_metric(double number);                       // 15.0 G, for FLOP
std::string in_powers(double number);                       // 6.74 B: thousands, millions, billions

// A bar with rate and time left on standard error, from the third second on; nothing when that is no terminal. Where
// stopping is asked for (core/interruption.h), set() throws Stopped.
class Progress {
   public:
    Progress(std::string label, double total, std::string unit);
    ~Progress();
    void set(double done);

   private:
    void draw(double done, double seconds);

    std::string label_, unit_;
    double total_;
    std::chrono::steady_clock::time_point start_, drawn_;
    bool visible_ = false;
};

}  // namespace tessera::cli
