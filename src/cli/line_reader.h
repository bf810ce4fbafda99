// Lines from a person: edited on a terminal, plain elsewhere.
#pragma once

#include <optional>
#include <string>

#include "cli/edited_line.h"

namespace tessera::cli {

class LineReader {
   public:
    LineReader();
    bool is_interactive() const { return interactive_; }
    // Nothing at the end of input. `prompt` is shown on a terminal only; Ctrl-C abandons a line.
    std::optional<std::string> read(const std::string& prompt);

   private:
    std::optional<std::string> read_key() const;
    void draw(const std::string& prompt) const;

    bool interactive_;
    EditedLine line_;
};

}  // namespace tessera::cli
