// The input line of a terminal before Enter: one line or several, where the cursor is, and what was sent before.
// Knows characters of UTF-8, not the screen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

class EditedLine {
   public:
    enum class State { Editing, Done, Abandoned, Ended };  // Enter, Ctrl-C, Ctrl-D on an empty line

    // One key: a character of UTF-8, a control character, or a whole escape sequence. Ctrl-J, Alt-Enter, and Enter
    // after a backslash begin a new line; Enter alone is the end.
    State press(std::string_view key);
    // A text put in whole, whatever characters it has; those that would command a terminal are left out.
    void paste(std::string_view text);

    const std::string& text() const { return text_; }
    std::size_t cursor() const { return cursor_; }  // in bytes
    std::string take();                             // the text, remembered in the history; the next begins empty

   private:
    void insert(std::string_view piece);
    void erase(std::size_t begin, std::size_t end);
    std::size_t before(std::size_t at) const;  // where the character before begins
    std::size_t after(std::size_t at) const;   // where the one at `at` ends
    std::size_t word_before() const;
    std::size_t line_begin() const;  // of the line with the cursor
    std::size_t line_end() const;
    void move_line(bool up);  // to the line above or below, or through the history where there is none
    void recall(std::size_t sent);
    void press_escape(std::string_view key);

    std::string text_, unsent_;  // unsent: what stood there before the history was looked at
    std::size_t cursor_ = 0;
    std::vector<std::string> history_;
    std::size_t sent_ = 0;  // of the history; its size: the text being typed
};

}  // namespace tessera::cli
