#include "tessera/inference/chat_turns.h"

#include <algorithm>

namespace tessera::inference {

std::vector<std::size_t> turns_of(const std::vector<ChatMessage>& messages) {
    std::vector<std::size_t> begins;
    for (std::size_t at = 0; at < messages.size(); ++at)
        if (messages[at].role == "user") begins.push_back(at);
    return begins;
}

std::size_t first_shown(const std::vector<ChatMessage>& messages, std::int64_t most,
                        const std::function<std::int64_t(std::size_t first)>& count) {
    if (messages.empty() || count(0) <= most) return 0;
    // What is shown from a later turn on is shorter.
    const std::vector<std::size_t> turns = turns_of(messages);
    if (turns.empty()) return 0;
    return *std::partition_point(turns.begin(), turns.end() - 1,
                                 [&](std::size_t first) { return count(first) > most; });
}

}  // namespace tessera::inference
