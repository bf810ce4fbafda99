#include "tessera/cli/commands/next_command.h"

#include "tessera/core/error.h"

namespace tessera::cli {

std::string next_command(const training::ObjectiveTraits* objective, const std::string& folder) {
    std::string command = objective ? objective->next_command : "inspect DIR";
    return command.replace(command.find("DIR"), 3, folder);
}

std::string resume_command(const std::string& command, const std::vector<std::string>& arguments) {
    std::string line = "tessera " + command;
    for (const std::string& argument : arguments) {
        if (argument == "--resume" || argument == "--overwrite") continue;
        const bool is_plain = !argument.empty() && argument.find_first_not_of(
                                                       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                       "0123456789_-+=./,:@%") == argument.npos;
        std::string quoted = argument;
        for (std::size_t at = 0; (at = quoted.find('\'', at)) != quoted.npos; at += 4) quoted.replace(at, 1, "'\\''");
        line += is_plain ? " " + argument : text_of(" '", quoted, "'");
    }
    return line + " --resume";
}

}  // namespace tessera::cli
