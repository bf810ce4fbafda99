#include "tessera/inference/prefix_cache.h"

#include <algorithm>
#include <chrono>

#include "tessera/tensor/tape.h"

namespace tessera::inference {

void PrefixCache::clear() {
    session_.reset();
    held_.clear();
    capacity_ = 0;
}

Generated PrefixCache::generate(const std::vector<std::int64_t>& ids, const GenerateOptions& options,
                                const OnToken& on_token) {
    const NoGrad no_grad;
    check(!model_.has_encoder(), model_.config.source(), ": a text beside another is not kept for the next prompt");
    check(options.context.end != AtContext::Shift, "texts whose context is shifted are not kept for the next prompt");
    const std::int64_t context = context_under(options.context, model_);
    std::vector<History> histories{{.ids = ids, .prompt = ids.size()}};
    const std::int64_t most = fitting_new_tokens(histories, context, options.max_new_tokens);
    const auto start = std::chrono::steady_clock::now();
    const Tensor logits = prefill(ids, static_cast<std::int64_t>(ids.size()) + most, options);
    if (!logits.defined()) return cancelled(1);
    if (device_.kind != DeviceKind::CPU) driver(device_.kind).synchronize(device_.index);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    held_.clear();  // should anything be thrown from here on, the caches hold who knows what
    Generated out = inference::generate(*session_, logits, std::move(histories), context, options, on_token);
    out.prefill_seconds = seconds;
    held_ = ids;
    held_.insert(held_.end(), out.tokens[0].begin(), out.tokens[0].begin() + out.steps);
    return out;
}

Tensor PrefixCache::prefill(const std::vector<std::int64_t>& ids, std::int64_t needed, const GenerateOptions& options) {
    check(!ids.empty(), "a prompt must have at least one token");
    // At least one token must be read, because logits come from reading.
    const auto most = static_cast<std::ptrdiff_t>(std::min(ids.size() - 1, held_.size()));
    reused_ = std::mismatch(ids.begin(), ids.begin() + most, held_.begin()).first - ids.begin();
    held_.clear();
    const bool fits = session_ && needed <= capacity_;
    if (fits && reused_ > 0 && session_->truncate(reused_)) return read_on(ids, options);
    // On the host room costs nothing until it is used; elsewhere it is taken at once.
    constexpr std::int64_t host_room = std::int64_t{1} << 17;
    reused_ = 0;
    if (!fits) capacity_ = device_ == cpu ? std::max(needed, host_room) : needed + needed / 2;
    session_.reset();
    session_ = model_.decode(capacity_);
    models::Batch batch = batch_of({ids});
    for (Tensor* tensor : {&batch.input_ids, &batch.attention_mask}) *tensor = tensor->to(device_);
    return inference::prefill(*session_, batch, options);
}

// What comes after the reused tokens. Where it is cancelled, what has been read is held for the next prompt.
Tensor PrefixCache::read_on(const std::vector<std::int64_t>& ids, const GenerateOptions& options) {
    const auto count = static_cast<std::int64_t>(ids.size());
    const std::int64_t part = options.prefill_chunk > 0 ? options.prefill_chunk : count;
    Tensor logits;
    for (std::int64_t seen = reused_; seen < count;) {
        if (seen > reused_) {
            if (options.is_cancelled && options.is_cancelled()) {
                held_.assign(ids.begin(), ids.begin() + seen);
                return {};
            }
            if (options.on_prefill) options.on_prefill(seen - reused_, count - reused_);
        }
        const std::int64_t end = std::min(count, seen + part);
        logits = session_->step(
            Tensor::from(std::vector<std::int64_t>(ids.begin() + seen, ids.begin() + end), {1, end - seen})
                .to(device_));
        seen = end;
    }
    return logits;
}

}  // namespace tessera::inference
