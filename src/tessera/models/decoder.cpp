#include "tessera/models/decoder.h"

#include "tessera/models/residual_dtype.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/cross_entropy.h"
#include "tessera/ops/unary.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

// A table of learned positions ends somewhere.
void check_positions(const Tensor& positions, std::int64_t available) {
    const Tensor host = positions.to(cpu).contiguous();
    const std::int64_t* values = host.data<std::int64_t>();
    for (std::int64_t i = 0; i < host.elements(); ++i)
        check(values[i] < available, "input_ids: ", values[i] + 1, " tokens, but the model has positions for ",
              available);
}

Tensor last_position(const Tensor& hidden) { return ops::select(hidden, 1, hidden.size(1) - 1); }

}  // namespace

DecoderSession::DecoderSession(const Decoder& decoder, std::int64_t capacity, std::int64_t first_position)
    : decoder_(decoder), cache_(decoder.make_cache(capacity)), history_(capacity), first_position_(first_position) {}

Tensor DecoderSession::prefill(const Batch& prompt) {
    const NoGrad no_grad;
    set_padding(padding_of(prompt.attention_mask));
    check(prompt.input_ids.rank() == 2, "input_ids: expected (B, T), found ", prompt.input_ids.shape());
    const std::int64_t count = prompt.input_ids.size(1);
    check(decoder_.longest_text() == 0 || count <= decoder_.longest_text() || starts_.defined(), "input_ids: ", count,
          " tokens, but the model has positions for ", decoder_.longest_text());
    std::int64_t seen = 0;
    if (prefill_chunk > 0 && decoder_.reads_in_chunks(count))
        for (; seen + prefill_chunk < count; seen += prefill_chunk) {
            hidden_after(ops::contiguous(ops::slice(prompt.input_ids, 1, seen, seen + prefill_chunk)));
            if (on_prefill) on_prefill(seen + prefill_chunk, count);
        }
    return step(seen > 0 ? ops::contiguous(ops::slice(prompt.input_ids, 1, seen, count)) : prompt.input_ids);
}

Tensor DecoderSession::with_forgotten(const Tensor& ids) {
    const std::int64_t limit = decoder_.restart_length(), seen = cache_.front()->length();
    if (limit == 0 || seen > limit) return ids;
    if (seen == 0) history_.clear();
    const Tensor all = history_.append(ids);
    if (all.size(1) <= limit) return ids;
    for (const auto& layer : cache_) layer->clear();
    return ops::contiguous(all);
}

Tensor DecoderSession::hidden_after(const Tensor& newest) {
    const Tensor ids = with_forgotten(newest);
    nn::Context context{.positions = next_positions(ids), .mask = ops::AttentionMask::causal()};
    context.mask.starts = starts_;
    return decoder_.run(decoder_.embed(ids, context, context.positions), context, &cache_);
}

Tensor DecoderSession::step(const Tensor& ids) {
    const NoGrad no_grad;
    return decoder_.logits(last_position(hidden_after(ids)));
}

void DecoderSession::reorder(std::span<const std::int64_t> rows) {
    for (const auto& layer : cache_) layer->reorder(rows);
    if (starts_.defined()) {
        starts_ = nn::gather_rows(starts_, rows);
        host_starts_ = starts_.to_vector<std::int64_t>();
    }
    history_.reorder(rows);
}

bool DecoderSession::truncate(std::int64_t tokens) {
    const std::int64_t seen = cache_.front()->length();
    if (decoder_.rotates_by_length || (decoder_.restart_length() > 0 && seen > decoder_.restart_length())) return false;
    // Layers of different windows: either all of them can forget, or none may.
    for (const auto& layer : cache_)
        if (!layer->can_truncate(tokens)) return false;
    for (const auto& layer : cache_) layer->truncate(tokens);
    history_.truncate(tokens);
    return true;
}

void DecoderSession::set_padding(const Padding& padding) {
    check(!padding.lengths.defined(), "prompts of different lengths are padded on the left, not on the right");
    starts_ = padding.starts;
    host_starts_ = starts_.defined() ? starts_.to_vector<std::int64_t>() : std::vector<std::int64_t>();
}

// (T), or (B, T) where rows begin at different places; padding stands at the first position.
Tensor DecoderSession::next_positions(const Tensor& ids) const {
    check(ids.rank() == 2, "input_ids: expected (B, T), found ", ids.shape());
    const std::int64_t count = ids.size(1), begin = cache_.front()->length() + first_position_;
    const auto rows = static_cast<std::int64_t>(std::max<std::size_t>(1, host_starts_.size()));
    const Tensor all = Tensor::empty({rows, count}, DType::I64);
    std::int64_t* positions = all.data<std::int64_t>();
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t start = host_starts_.empty() ? 0 : host_starts_[static_cast<std::size_t>(row)];
        for (std::int64_t at = begin; at < begin + count; ++at) *positions++ = std::max(first_position_, at - start);
    }
    return (host_starts_.empty() ? ops::reshape(all, {count}) : all).to(ids.device());
}

Tensor DecoderSession::advance(const Tensor& embedded, nn::Context context) {
    context.mask.starts = starts_;
    return decoder_.logits(last_position(decoder_.run(embedded, context, &cache_)));
}

bool Decoder::reads_in_chunks(std::int64_t tokens) const {
    return !rotates_by_length && (restart_length_ == 0 || tokens <= restart_length_);
}

Decoder::Decoder(const Config& settings, DecoderParts parts, WeightTable table)
    : tokens_(parts.vocabulary, parts.width),
      stack_(std::move(parts.blocks), std::move(parts.final_norm)),
      embedding_scale_(parts.embedding_scale),
      dropout_(parts.dropout),
      logit_soft_cap_(parts.logit_soft_cap),
      tied_(parts.tied),
      context_length_(parts.context_length),
      balance_(parts.balance) {
    tokens_.padding_id = parts.padding_id;
    if (parts.learned_positions > 0) positions_ = nn::Embedding(parts.learned_positions, parts.width);
    if (!tied_) head_ = nn::Linear(parts.width, parts.vocabulary, false);
    for (const auto& block : stack_.blocks) {
        if (!block->rope()) continue;
        const ops::RopeScaling& scaling = block->rope()->scaling();
        if (scaling.kind == ops::RopeScalingKind::Longrope) restart_length_ = scaling.original_length;
        if (scaling.kind == ops::RopeScalingKind::DynamicNtk) rotates_by_length = true;
    }
    config = settings;
    capabilities = {Capability::Generate, Capability::Score, Capability::EmbedTexts};
    weights = std::move(table);
}

Tensor Decoder::embed(const Tensor& ids, const nn::Context& context, const Tensor& positions) const {
    check(ids.rank() == 2 && ids.size(1) > 0, "input_ids: expected (B, T), found ", ids.shape());
    Tensor x = to_residual_dtype(tokens_.forward(ids));
    if (embedding_scale_ != 1) x = ops::mul(x, Tensor::scalar(embedding_scale_, x.dtype(), x.device()));
    if (positions_.weight.defined()) {
        const Tensor where = positions.defined() ? positions : Tensor::arange(ids.size(1)).to(ids.device());
        check_positions(where, positions_.weight.size(0));
        x = ops::add(x, to_residual_dtype(positions_.forward(where)));
    }
    return nn::drop(x, dropout_, context, stack_.blocks.size());
}

Tensor Decoder::run(const Tensor& embedded, const nn::Context& context, nn::StackCache* cache,
                    const Observer& observer) const {
    if (!observer) return stack_.forward(embedded, context, cache);
    observer("hidden_after_embed", embedded);
    const std::size_t last = stack_.blocks.size() - 1;
    const Tensor hidden = stack_.forward(embedded, context, cache, [&](std::size_t block, const Tensor& output) {
        if (block != last) observer(text_of("hidden_after_layer_", block + 1), output);
    });
    observer(text_of("hidden_after_layer_", last + 1), hidden);  // the reference counts the norm to the last layer
    observer("last_hidden", hidden);
    return hidden;
}

Tensor Decoder::logits(const Tensor& hidden) const {
    const Tensor logits = tied_ ? tokens_.logits(hidden) : head_.forward(hidden);
    return logit_soft_cap_ > 0 ? ops::soft_cap(logits, logit_soft_cap_) : logits;
}

namespace {

nn::Context causal_context(const Batch& batch, nn::Context context) {
    const Padding padding = padding_of(batch.attention_mask);
    context.mask.keys_ahead = 0;
    padding.apply(context.mask);
    if (!context.positions.defined()) context.positions = padding.positions;
    return context;
}

}  // namespace

Tensor Decoder::forward(const Batch& batch, const nn::Context& given, const Observer& observer) const {
    const nn::Context context = causal_context(batch, given);
    return logits(run(embed(batch.input_ids, context, context.positions), context, nullptr, observer));
}

Tensor Decoder::loss(const Batch& batch, const LossOptions& options, const nn::Context& given) const {
    nn::Context context = causal_context(batch, given);
    std::vector<nn::RouterChoice> choices;
    context.router_choices = &choices;
    const Tensor hidden = run(embed(batch.input_ids, context, context.positions), context);
    const Tensor loss = next_token_loss(hidden, batch.labels.defined() ? batch.labels : batch.input_ids, options);
    if (given.router_choices) given.router_choices->insert(given.router_choices->end(), choices.begin(), choices.end());
    const double weight = balance_.weight_in(options, context.training);
    if (weight == 0 || choices.empty()) return loss;
    return ops::add(loss, ops::scale(balance_loss(choices, batch, balance_.over), weight));
}

Tensor Decoder::next_token_loss(const Tensor& hidden, const Tensor& labels, const LossOptions& options) const {
    const std::int64_t count = hidden.size(1);
    check(labels.rank() == 2 && labels.size(1) == count && count > 1, "labels: expected (B, ", count, "), found ",
          labels.shape());
    return ops::linear_cross_entropy(
        ops::slice(hidden, 1, 0, count - 1), tied_ ? tokens_.weight : head_.weight, ops::slice(labels, 1, 1, count),
        {.label_smoothing = options.label_smoothing, .z_loss = options.z_loss, .soft_cap = logit_soft_cap_});
}

std::unique_ptr<DecodingSession> Decoder::decode(std::int64_t capacity) const {
    return std::make_unique<DecoderSession>(*this, capacity);
}

void Decoder::visit(const nn::Visitor& visitor) {
    visitor("tokens", tokens_);
    if (positions_.weight.defined()) visitor("positions", positions_);
    stack_.visit(visitor);
    if (!tied_) visitor("head", head_);
}

}  // namespace tessera::models
