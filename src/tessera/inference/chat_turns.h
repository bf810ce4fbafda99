// A conversation that has outgrown a model's context: which of its turns are still shown to the model.
#pragma once

#include <functional>
#include <vector>

#include "tessera/inference/chat_prompt.h"

namespace tessera::inference {

// Where turns begin: what a person says, with the answers to it.
std::vector<std::size_t> turns_of(const std::vector<ChatMessage>& messages);

// The first message that is still shown: one that begins a turn, so that whole turns are left out, the oldest first,
// until `count`, the tokens of what is shown from a message on, is at most `most`. The last turn stays in any case.
std::size_t first_shown(const std::vector<ChatMessage>& messages, std::int64_t most,
                        const std::function<std::int64_t(std::size_t first)>& count);

}  // namespace tessera::inference
