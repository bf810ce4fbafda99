#include "tessera/cli/commands/next_command.h"

#include "tessera/core/error.h"

namespace tessera::cli {

std::string next_command(const std::string& objective, const std::string& folder) {
    if (objective == "masked") return text_of("fill ", folder, " \"…\"");
    if (objective == "pairs") return text_of("translate ", folder, " \"…\"");
    if (objective == "classify") return text_of("classify ", folder, " PICTURE");
    if (objective == "contrastive") return text_of("classify ", folder, " PICTURE --labels …");
    if (objective == "prefix") return text_of("generate ", folder, " \"…\" --image PICTURE");
    if (objective == "labels") return text_of("classify ", folder, " \"…\"");
    if (objective == "autoencode") return text_of("inspect ", folder);
    return text_of("generate ", folder, " \"…\"");
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
