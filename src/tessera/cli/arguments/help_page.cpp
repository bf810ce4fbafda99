#include "tessera/cli/arguments/help_page.h"

#include <algorithm>
#include <sstream>

#include "tessera/cli/terminal/terminal.h"
#include "tessera/core/error.h"

namespace tessera::cli {
namespace {

constexpr std::size_t column = 30, narrowest = 60, widest = 118;

// Words in lines of this width; later lines stand under the first.
std::string wrapped(const std::string& text, std::size_t indent) {
    const std::size_t width = std::clamp(terminal_columns(widest), narrowest, widest);
    std::string lines;
    std::size_t at = indent;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (at > indent && at + 1 + word.size() > width) {
            lines += '\n' + std::string(indent, ' ');
            at = indent;
        }
        if (at > indent) {
            lines += ' ';
            ++at;
        }
        lines += word;
        at += word.size();
    }
    return lines;
}

std::string text_of_entry(const HelpEntry& entry) {
    std::string text = "  " + entry.names;
    text += text.size() + 2 > column ? '\n' + std::string(column, ' ') : std::string(column - text.size(), ' ');
    std::string help = entry.help;
    if (!entry.fallback.empty()) help += text_of(" (default: ", entry.fallback, ")");
    text += wrapped(help, column) + '\n';
    if (!entry.other_names.empty())
        text += std::string(column, ' ') + wrapped("also " + entry.other_names, column) + '\n';
    return text;
}

std::string text_of_entries(const char* title, const std::vector<HelpEntry>& entries) {
    std::string text = entries.empty() ? "" : text_of("\n", title, ":\n");
    for (const HelpEntry& entry : entries) text += text_of_entry(entry);
    return text;
}

}  // namespace

std::string text_of_page(const HelpPage& page) {
    std::string usage = "Usage: tessera " + page.command;
    for (const std::string& word : page.usage) usage += " " + word;
    return text_of(usage, " [OPTIONS]\n\n", wrapped(page.summary, 0), "\n", text_of_entries("Commands", page.commands),
                   text_of_entries("Arguments", page.positionals), text_of_entries("Options", page.options),
                   "\nExample:\n  ", page.example, "\n");
}

}  // namespace tessera::cli
