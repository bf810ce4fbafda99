// Where a text that is generated ends for want of context, or goes on without it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/models/model.h"

namespace tessera::inference {

enum class AtContext {
    Stop,
    Shift,  // the older half of the text is forgotten, and what is left is read again from position 0
    GoOn,   // past what the model was made for, up to where its learned positions end
};

struct ContextRule {
    std::int64_t tokens = 0;  // of prompt and answer together; 0: the model's context
    AtContext end = AtContext::Stop;
    // How many of the first tokens of a text a shift does not forget: what begins it.
    std::optional<std::int64_t> kept = {};  // none said: the generator keeps the token that all texts begin with
};

// How many tokens the model may read of one text under the rule; 0: as many as wanted. Asking for more than the model
// has is refused.
std::int64_t context_under(const ContextRule& rule, const models::Model& model);

// Whether a part of a text can be forgotten: not where images or another text stand beside it.
bool can_shift(const models::Model& model);

// How many tokens after the kept ones are forgotten of a text of `count`, of which so many already are, to make it fit:
// half of those that may be, as often as it takes.
std::int64_t forgotten_by_shift(std::int64_t count, std::int64_t forgotten, std::int64_t context, std::int64_t kept);

}  // namespace tessera::inference
