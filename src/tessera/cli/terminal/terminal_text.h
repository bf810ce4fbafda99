// Text from strangers on its way to a terminal, which obeys some characters: they are written out there ("\x1b"), so
// that a vocabulary cannot move the cursor, rename the window or turn the order of letters around. A file or a pipe
// gets the bytes as they are.
#pragma once

#include <string>
#include <string_view>

namespace tessera::cli {

// A whole text with everything written out that a terminal would obey, but for the ends of lines and tabs.
std::string harmless(std::string_view text);

// The same on one line: line ends and tabs are written out too.
std::string harmless_line(std::string_view text);

// `harmless` where standard output is a terminal, the text itself elsewhere.
std::string for_terminal(const std::string& text);

// JSON for standard output: on a terminal, what it would obey is written as JSON's own escapes.
std::string json_for_terminal(const std::string& json);

// A text that comes in pieces, which may end within a character.
class TerminalText {
   public:
    TerminalText();                                                // for standard output
    explicit TerminalText(bool terminal) : terminal_(terminal) {}  // or as if it was one
    std::string add(std::string_view piece);
    std::string finish();  // what was kept back, as the character it belongs to never came

   private:
    bool terminal_;
    std::string kept_;
};

}  // namespace tessera::cli
