#include "tessera/cli/commands/truncation_notice.h"

#include <fmt/format.h>

#include <algorithm>

#include "tessera/cli/terminal/terminal.h"

namespace tessera::cli {

std::int64_t count_truncated(const std::vector<inference::ReadText>& texts) {
    return std::count_if(texts.begin(), texts.end(), [](const inference::ReadText& one) { return one.is_truncated; });
}

void print_truncation(const std::vector<inference::ReadText>& texts) {
    const std::int64_t truncated = count_truncated(texts);
    if (truncated == 0) return;
    const auto first =
        std::find_if(texts.begin(), texts.end(), [](const inference::ReadText& one) { return one.is_truncated; });
    fmt::print(stderr, "tessera: {} of {} {} cut to the {} that the model reads\n", truncated,
               counted(static_cast<std::int64_t>(texts.size()), "text"), truncated == 1 ? "was" : "were",
               counted(first->tokens, "token"));
}

}  // namespace tessera::cli
