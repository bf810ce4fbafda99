#include "tessera/models/encoder_decoder.h"

#include <algorithm>

#include "tessera/models/residual_dtype.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

// Which random key each place takes; a stack's own blocks count from 0 below its key.
enum Use : std::uint64_t { InEncoder, InDecoder, OfEmbeddings = 1u << 20, OfOutputs };

class EncoderDecoderSession : public DecodingSession {
   public:
    EncoderDecoderSession(const EncoderDecoder& model, std::int64_t capacity)
        : model_(model), capacity_(capacity), cache_(model.make_cache(capacity)) {}

    Tensor prefill(const Batch& prompt) override {
        const NoGrad no_grad;
        padding_ = padding_of(prompt.decoder_attention_mask);
        check(!padding_.lengths.defined(),
              "decoder_attention_mask: prompts of different lengths are padded on the left, not on the right");
        for (const auto& layer : cache_) layer->clear();
        texts_.clear();
        memory_ = model_.encode(prompt);
        return advance(prompt.decoder_input_ids.defined() ? prompt.decoder_input_ids : start_of(prompt.input_ids));
    }

    Tensor step(const Tensor& ids) override {
        check(memory_.states.defined(), "decoding: a step before the prompt was read");
        const NoGrad no_grad;
        return advance(ids);
    }

    // Beams of one text change places all the time, but they look at the same memory, which then stays where it is.
    void reorder(std::span<const std::int64_t> rows) override {
        check(memory_.states.defined(), "decoding: rows were reordered before the prompt was read");
        if (texts_.empty())
            for (std::int64_t row = 0; row < memory_.states.size(0); ++row) texts_.push_back(row);
        std::vector<std::int64_t> texts;
        for (const std::int64_t row : rows) texts.push_back(texts_.at(static_cast<std::size_t>(row)));
        const bool same_texts = texts == texts_;
        texts_ = std::move(texts);
        for (const auto& layer : cache_) same_texts ? layer->self->reorder(rows) : layer->reorder(rows);
        if (padding_.starts.defined()) padding_.starts = nn::gather_rows(padding_.starts, rows);
        if (same_texts) return;
        memory_.states = nn::gather_rows(memory_.states, rows);
        for (Tensor* fact : {&memory_.mask.starts, &memory_.mask.lengths})
            if (fact->defined()) *fact = nn::gather_rows(*fact, rows);
    }

    std::int64_t cache_bytes() const override {
        std::int64_t total = 0;
        for (const auto& layer : cache_) total += layer->bytes();
        return total;
    }

   private:
    Tensor start_of(const Tensor& input_ids) const {
        return Tensor::full({input_ids.size(0), 1}, static_cast<double>(model_.decoder_start_token), DType::I64,
                            input_ids.device());
    }

    Tensor advance(const Tensor& ids) {
        nn::Context context;
        if (ids.rank() == 2 && ids.size(1) == 1 && !cache_.empty())
            context.bias = bias_of_newest(cache_.front()->length() + 1);
        const Tensor hidden = model_.run(ids, memory_, padding_, context, &cache_);
        return model_.logits(ops::select(hidden, 1, hidden.size(1) - 1));
    }

    // What one query adds to its logits depends on distances alone: a table for the last of many tokens holds it for
    // fewer at its end.
    Tensor bias_of_newest(std::int64_t keys) {
        constexpr std::int64_t usual_length = 4096;
        if (!bias_table_.defined() || bias_table_.size(3) < keys) {
            const std::int64_t length = std::min(std::max(2 * keys, usual_length), std::max(keys, capacity_));
            bias_table_ = model_.decoder_bias(1, length);
        }
        if (!bias_table_.defined()) return {};
        return ops::slice(bias_table_, 3, bias_table_.size(3) - keys, bias_table_.size(3));
    }

    const EncoderDecoder& model_;
    std::int64_t capacity_;
    nn::CrossStackCache cache_;
    Tensor bias_table_;  // (1, H, 1, longest text so far, and more); undefined without relative positions
    nn::Memory memory_;
    std::vector<std::int64_t> texts_;  // which of the encoder's texts each row writes about; empty: row i, text i
    Padding padding_;
};

}  // namespace

InputEmbedding::InputEmbedding(InputEmbeddingParts parts, std::int64_t width) : parts_(std::move(parts)) {
    if (parts_.learned_positions > 0)
        positions_ = nn::Embedding(parts_.learned_positions + parts_.position_offset, width);
}

Tensor InputEmbedding::forward(Tensor x, std::int64_t seen, const char* input) const {
    const std::int64_t end = seen + x.size(1);
    const auto check_end = [&](std::int64_t longest) {
        check(end <= longest, input, ": ", end, " tokens, but the model has positions for ", longest);
    };
    if (positions_.weight.defined()) {
        check_end(parts_.learned_positions);
        const Tensor rows = nn::consecutive_positions(parts_.position_offset + seen, x.size(1), x.device());
        x = ops::add(x, to_residual_dtype(positions_.forward(rows)));
    }
    if (parts_.fixed_positions.defined()) {
        check_end(parts_.fixed_positions.size(0));
        x = ops::add(x, ops::slice(parts_.fixed_positions, 0, seen, end).to(x.dtype()).to(x.device()));
    }
    return parts_.norm ? parts_.norm->forward(x) : x;
}

Tensor InputEmbedding::bias(std::int64_t queries, std::int64_t keys) const {
    return parts_.relative_bias ? to_residual_dtype(parts_.relative_bias->forward(queries, keys)) : Tensor();
}

std::int64_t InputEmbedding::longest_text() const {
    if (positions_.weight.defined()) return parts_.learned_positions;
    return parts_.fixed_positions.defined() ? parts_.fixed_positions.size(0) : 0;
}

void InputEmbedding::visit(const nn::Visitor& visitor) {
    if (positions_.weight.defined()) visitor("positions", positions_);
    visitor("relative_bias", parts_.relative_bias);
    visitor("norm", parts_.norm);
}

EncoderDecoder::EncoderDecoder(const Config& settings, EncoderDecoderParts parts, WeightTable table)
    : tokens_(parts.vocabulary, parts.width),
      encoder_input_(std::move(parts.encoder_input), parts.width),
      decoder_input_(std::move(parts.decoder_input), parts.width),
      encoder_(std::move(parts.encoder_blocks), std::move(parts.encoder_norm)),
      decoder_(std::move(parts.decoder_blocks), std::move(parts.decoder_norm)),
      embedding_scale_(parts.embedding_scale),
      dropout_(parts.dropout),
      head_scale_(parts.head_scale),
      drops_outputs_(parts.drops_outputs),
      padding_id_(parts.padding_id) {
    const std::int64_t vocabulary = parts.decoder_vocabulary > 0 ? parts.decoder_vocabulary : parts.vocabulary;
    if (parts.decoder_vocabulary > 0) decoder_tokens_ = nn::Embedding(vocabulary, parts.width);
    if (!parts.padding_learns) tokens_.padding_id = decoder_tokens_.padding_id = parts.padding_id;
    if (!parts.tied) head_ = nn::Linear(parts.width, vocabulary, false);
    if (parts.has_logits_bias) logits_bias_ = Tensor::zeros({1, vocabulary});
    config = settings;
    decoder_start_token = parts.decoder_start_id;
    capabilities = {Capability::Generate, Capability::EncodeDecode, Capability::Align};
    weights = std::move(table);
}

Tensor EncoderDecoder::embed(const nn::Embedding& tokens, const Tensor& ids, const char* input) const {
    check(ids.rank() == 2 && ids.size(1) > 0, input, ": expected (B, T), found ", ids.shape());
    const Tensor x = to_residual_dtype(tokens.forward(ids));
    return embedding_scale_ != 1 ? ops::scale(x, embedding_scale_) : x;
}

nn::Memory EncoderDecoder::encode(const Batch& batch, const nn::Context& given, const Observer& observer) const {
    nn::Context context = given.child(InEncoder);
    const Tensor& mask = batch.attention_mask;
    check(!mask.defined() || mask.shape() == batch.input_ids.shape(), "attention_mask: expected ",
          batch.input_ids.shape(), ", found ", mask.shape());
    const Tensor embedded = embed(tokens_, batch.input_ids, "input_ids");
    const Tensor x = nn::drop(encoder_input_.forward(embedded, 0, "input_ids"), dropout_, context, OfEmbeddings);
    context.bias = encoder_input_.bias(x.size(1), x.size(1));
    nn::Memory memory;
    padding_of(mask).apply(memory.mask);
    context.mask = memory.mask;
    const Tensor states = encoder_.forward(x, context);
    memory.states = drops_outputs_ ? nn::drop(states, dropout_, context, OfOutputs) : states;
    if (observer) observer("encoder_last_hidden", memory.states);
    return memory;
}

Tensor EncoderDecoder::run(const Tensor& ids, const nn::Memory& memory, const Padding& padding,
                           const nn::Context& given, nn::CrossStackCache* cache) const {
    const std::int64_t seen = cache && !cache->empty() ? cache->front()->length() : 0;
    check(ids.rank() == 2 && ids.size(0) == memory.states.size(0), "decoder_input_ids: expected (",
          memory.states.size(0), ", T), found ", ids.shape());
    nn::Context context = given.child(InDecoder);
    const Tensor embedded = embed(decoder_tokens(), ids, "decoder_input_ids");
    const Tensor x =
        nn::drop(decoder_input_.forward(embedded, seen, "decoder_input_ids"), dropout_, context, OfEmbeddings);
    if (!context.bias.defined()) context.bias = decoder_bias(x.size(1), seen + x.size(1));
    context.mask = ops::AttentionMask::causal();
    padding.apply(context.mask);
    const Tensor hidden = decoder_.forward(x, memory, context, cache);
    return drops_outputs_ ? nn::drop(hidden, dropout_, context, OfOutputs) : hidden;
}

Tensor EncoderDecoder::logits(const Tensor& hidden) const {
    const Tensor x = head_scale_ != 1 ? ops::scale(hidden, head_scale_) : hidden;
    const Tensor& weight = head_weight();
    return ops::linear(x, weight, logits_bias_.defined() ? ops::reshape(logits_bias_, {weight.size(0)}) : Tensor());
}

Tensor EncoderDecoder::decoder_inputs(const Batch& batch) const {
    if (batch.decoder_input_ids.defined()) return batch.decoder_input_ids;
    check(batch.labels.rank() == 2, "decoder_input_ids: neither they nor labels of (B, U) are given");
    const std::int64_t count = batch.labels.size(1);
    std::vector<std::int64_t> ids = batch.labels.to_vector<std::int64_t>();
    for (std::size_t i = ids.size(); i-- > 0;) {
        const bool is_first = i % static_cast<std::size_t>(count) == 0;
        const std::int64_t before = is_first ? decoder_start_token : ids[i - 1];
        ids[i] = before == -100 ? padding_id_ : before;
    }
    return Tensor::from(ids, batch.labels.shape()).to(batch.labels.device());
}

Tensor EncoderDecoder::decoder_hidden(const Batch& batch, const nn::Context& context, const Observer& observer) const {
    const Tensor ids = decoder_inputs(batch);
    const nn::Memory memory = encode(batch, context, observer);
    const Tensor& mask = batch.decoder_attention_mask;
    check(!mask.defined() || mask.shape() == ids.shape(), "decoder_attention_mask: expected ", ids.shape(), ", found ",
          mask.shape());
    const Tensor hidden = run(ids, memory, padding_of(mask), context);
    if (observer) observer("last_hidden", hidden);
    return hidden;
}

Tensor EncoderDecoder::forward(const Batch& batch, const nn::Context& context, const Observer& observer) const {
    return logits(decoder_hidden(batch, context, observer));
}

Tensor EncoderDecoder::loss(const Batch& batch, const LossOptions& options, const nn::Context& context) const {
    const Tensor hidden = decoder_hidden(batch, context, {});
    const Tensor& labels = batch.labels;
    check(labels.rank() == 2 && labels.size(0) == hidden.size(0) && labels.size(1) == hidden.size(1),
          "labels: expected (", hidden.size(0), ", ", hidden.size(1), "), found ", labels.shape());
    if (logits_bias_.defined()) return ops::cross_entropy(logits(hidden), labels, options.cross_entropy());
    return ops::linear_cross_entropy(head_scale_ != 1 ? ops::scale(hidden, head_scale_) : hidden, head_weight(), labels,
                                     {.label_smoothing = options.label_smoothing, .z_loss = options.z_loss});
}

std::unique_ptr<DecodingSession> EncoderDecoder::decode(std::int64_t capacity) const {
    return std::make_unique<EncoderDecoderSession>(*this, capacity);
}

void EncoderDecoder::visit(const nn::Visitor& visitor) {
    visitor("tokens", tokens_);
    if (decoder_tokens_.weight.defined()) visitor("decoder_tokens", decoder_tokens_);
    visitor("encoder_input", encoder_input_);
    visitor("encoder", encoder_);
    visitor("decoder_input", decoder_input_);
    visitor("decoder", decoder_);
    if (head_.weight.defined()) visitor("head", head_);
    visitor.fixed("logits_bias", logits_bias_);
}

}  // namespace tessera::models
