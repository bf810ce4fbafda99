// The page that --help prints: its usage, what it takes, what happens without each option, and an example.
#pragma once

#include <string>
#include <vector>

namespace tessera::cli {

// One command of a group, positional argument or option.
struct HelpEntry {
    std::string names;        // "-n, --max-new N"; of a positional its name alone
    std::string help;         // what it is for
    std::string fallback;     // its value when it is not given; empty: the help says what happens then
    std::string other_names;  // "--max-tokens, --max-new-tokens"
};

struct HelpPage {
    std::string command, summary, example;
    std::vector<std::string> usage = {};  // "DIR", "[PROMPT…]"
    std::vector<HelpEntry> commands = {}, positionals = {}, options = {};
};

std::string text_of_page(const HelpPage& page);

}  // namespace tessera::cli
