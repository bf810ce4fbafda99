// Texts from a person: edited on a terminal, one or several lines each, and plain lines elsewhere.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/cli/terminal/edited_line.h"

namespace tessera::cli {

class LineReader {
   public:
    LineReader();
    bool is_interactive() const { return interactive_; }
    // Nothing at the end of input. `prompt` is shown on a terminal only; Ctrl-C abandons a text.
    std::optional<std::string> read(const std::string& prompt);

   private:
    std::optional<char> next_byte();
    std::optional<std::string> next_key();
    std::string rest_of_paste();
    bool more_is_waiting() const;
    void draw();

    bool interactive_;
    EditedLine line_;
    std::string prompt_, waiting_;  // waiting: bytes that came together with others
    // What stands on the screen: the rows' widths, the cursor among them, and how wide the terminal was.
    std::vector<int> drawn_;
    std::size_t cursor_row_ = 0;
    int cursor_column_ = 0, columns_ = 0;
};

}  // namespace tessera::cli
