// A text as rows of a terminal: long lines go on in the next row, wide characters take two columns.
#pragma once

#include <string>
#include <vector>

namespace tessera::cli {

struct TextRows {
    std::vector<std::string> rows = {};
    std::vector<int> widths = {};  // of each, in columns
    std::size_t cursor_row = 0;
    int cursor_column = 0;
};

// `prompt` stands before the first row; the others are indented as far. The last column stays empty, because terminals
// do not agree where the cursor is after it. `cursor` counts bytes of the text.
TextRows rows_of(const std::string& text, std::size_t cursor, const std::string& prompt, int columns);

}  // namespace tessera::cli
