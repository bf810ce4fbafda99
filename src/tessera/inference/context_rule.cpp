#include "tessera/inference/context_rule.h"

#include <algorithm>

#include "tessera/core/error.h"
#include "tessera/models/catalog.h"

namespace tessera::inference {

std::int64_t context_under(const ContextRule& rule, const models::Model& model) {
    const bool goes_on = rule.end == AtContext::GoOn;
    const std::int64_t most = goes_on ? model.longest_text() : model.context_length();
    check(rule.tokens >= 0, "a context of ", rule.tokens, " tokens");
    check(most == 0 || rule.tokens <= most, "a context of ", rule.tokens, " tokens, but the model's is ", most);
    const std::int64_t context = rule.tokens > 0 ? rule.tokens : most;
    const std::int64_t kept = rule.kept.value_or(0);
    check(kept >= 0 && (rule.end != AtContext::Shift || context == 0 || context >= kept + 2), "a context of ", context,
          " tokens cannot be shifted behind its first ", kept);
    return context;
}

bool can_shift(const models::Model& model) {
    return !model.has_encoder() && models::architecture_of(model.config).vision == nullptr;
}

std::int64_t forgotten_by_shift(std::int64_t count, std::int64_t forgotten, std::int64_t context, std::int64_t kept) {
    const std::int64_t half = std::max<std::int64_t>(1, (context - kept) / 2);
    while (count - forgotten > context) forgotten += half;
    return forgotten;
}

}  // namespace tessera::inference
