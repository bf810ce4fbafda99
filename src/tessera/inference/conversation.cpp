#include "tessera/inference/conversation.h"

#include <algorithm>
#include <chrono>

#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::inference {

Generated Conversation::answer(const models::Batch& prompt, const GenerateOptions& options, const OnToken& on_token) {
    const NoGrad no_grad;
    check(prompt.input_ids.rank() == 2 && prompt.input_ids.size(0) == 1, "conversation: expected one prompt, found ",
          prompt.input_ids.shape());
    check(options.context.end != AtContext::Shift, "conversation: texts whose context is shifted are not kept");
    const std::int64_t context = context_under(options.context, model_);
    std::vector<History> histories = histories_of(model_, prompt);
    const std::int64_t most = fitting_new_tokens(histories, context, options.max_new_tokens);
    const std::vector<std::int64_t> ids = prompt.input_ids.to_vector<std::int64_t>();
    const auto start = std::chrono::steady_clock::now();
    const Tensor logits = prefill(prompt, ids, prompt_length(model_, prompt) + most, options);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const bool only_ids = !prompt.pixel_values.defined() && !model_.has_encoder();
    held_.clear();  // should anything be thrown from here on, the caches hold who knows what
    Generated out = generate(*session_, logits, std::move(histories), context, options, on_token);
    out.prefill_seconds = seconds;
    if (only_ids) {
        held_ = ids;
        held_.insert(held_.end(), out.tokens[0].begin(), out.tokens[0].begin() + out.steps);
    }
    return out;
}

Tensor Conversation::prefill(const models::Batch& prompt, const std::vector<std::int64_t>& ids, std::int64_t needed,
                             const GenerateOptions& options) {
    // At least one token must be read, because logits come from reading.
    const auto most = static_cast<std::ptrdiff_t>(std::min(ids.size() - 1, held_.size()));
    const auto common = std::mismatch(ids.begin(), ids.begin() + most, held_.begin()).first - ids.begin();
    held_.clear();
    const bool fits = session_ && needed <= capacity_;
    if (fits && common > 0 && !prompt.pixel_values.defined() && session_->truncate(common)) {
        reused_ = common;
        std::int64_t seen = common;
        const std::int64_t count = prompt.input_ids.size(1), chunk = options.prefill_chunk;
        for (; chunk > 0 && seen + chunk < count; seen += chunk) {
            session_->step(ops::contiguous(ops::slice(prompt.input_ids, 1, seen, seen + chunk)));
            if (options.on_prefill) options.on_prefill(seen + chunk - common, count - common);
        }
        return session_->step(ops::contiguous(ops::slice(prompt.input_ids, 1, seen, count)));
    }
    // On the host room costs nothing until it is used; elsewhere it is taken at once.
    constexpr std::int64_t host_room = std::int64_t{1} << 17;
    reused_ = 0;
    if (!fits) {
        const bool on_host = prompt.input_ids.device().kind == DeviceKind::CPU;
        capacity_ = on_host ? std::max(needed, host_room) : needed + needed / 2;
    }
    session_ = model_.decode(capacity_);
    session_->prefill_chunk = options.prefill_chunk;
    session_->on_prefill = options.on_prefill;
    return session_->prefill(prompt);
}

}  // namespace tessera::inference
