#include "tessera/cli/arguments/command_group.h"

#include <algorithm>
#include <cstdio>

#include "tessera/cli/arguments/help_page.h"
#include "tessera/cli/arguments/suggestion.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/core/error.h"

namespace tessera::cli {
namespace {

std::string page_of(const CommandGroup& group) {
    HelpPage page{.command = group.name,
                  .summary = text_of(group.summary, " Each command has --help."),
                  .example = group.example,
                  .usage = {"COMMAND"}};
    for (const Subcommand& one : group.commands)
        page.commands.push_back(
            {.names = text_of(one.name, " ", one.usage), .help = one.summary, .fallback = {}, .other_names = {}});
    return text_of_page(page);
}

int refuse(const CommandGroup& group, const std::string& name) {
    std::vector<std::string> known;
    std::string list;
    for (const Subcommand& one : group.commands) {
        known.emplace_back(one.name);
        list += text_of(list.empty() ? "" : ", ", one.name);
    }
    const bool is_option = name.starts_with('-');
    std::fprintf(stderr, "tessera %s: there is no %s '%s'%s; there are: %s; see tessera %s --help\n", group.name,
                 is_option ? "option" : "command", one_line(name).c_str(), suggestion(name, known).c_str(),
                 list.c_str(), group.name);
    return 2;
}

}  // namespace

int run_group(const CommandGroup& group, const std::vector<std::string>& arguments) {
    const bool asked = !arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h");
    if (asked || arguments.empty()) {
        std::fputs(page_of(group).c_str(), asked ? stdout : stderr);
        return asked ? 0 : 2;
    }
    const auto found = std::find_if(group.commands.begin(), group.commands.end(),
                                    [&](const Subcommand& one) { return arguments[0] == one.name; });
    if (found == group.commands.end()) return refuse(group, arguments[0]);
    return found->run({arguments.begin() + 1, arguments.end()});
}

}  // namespace tessera::cli
