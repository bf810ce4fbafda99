// One line of text under the keys of a terminal: what the person has typed, where the cursor is, and the lines before
// it. Knows characters of UTF-8, not the screen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

class EditedLine {
   public:
    enum class State { editing, done, abandoned, ended };  // Enter, Ctrl-C, Ctrl-D on an empty line

    // One key: a character of UTF-8, a control character, or a whole escape sequence.
    State press(std::string_view key);

    const std::string& text() const { return text_; }
    std::size_t cursor() const { return cursor_; }  // in bytes
    std::string take();                             // the line, remembered in the history; the next begins empty

   private:
    void insert(std::string_view piece);
    void erase(std::size_t begin, std::size_t end);
    std::size_t before(std::size_t at) const;  // where the character before begins
    std::size_t after(std::size_t at) const;   // where the one at `at` ends
    std::size_t word_before() const;
    void recall(std::size_t line);
    void press_escape(std::string_view key);

    std::string text_, unsent_;  // unsent: what stood there before the history was looked at
    std::size_t cursor_ = 0;
    std::vector<std::string> history_;
    std::size_t line_ = 0;  // of the history; its size: the line being typed
};

}  // namespace tessera::cli
