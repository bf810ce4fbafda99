#include "cli/next_command.h"

#include "core/error.h"

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

}  // namespace tessera::cli
