// Sequence to sequence with attention (Bahdanau et al. 2014): a GRU reads the source, and where the config says
// "bidirectional", as the paper does, another reads it from its end; a word's annotation h_i is both states side by
// side. At each step of the target the decoder's last state s_{t−1} is the query of additive attention over the
// annotations, and what it finds goes, beside the embedding of the last token, into the decoder's GRU.
//
//     c_t = attention(s_{t−1}, h),   s_t = GRU(s_{t−1}, [c_t, embedding(y_{t−1})]),   y_t ~ softmax(W s_t + b)
//
// s_0 is tanh(W_s ←h_1), of the state that has read all words from the last to the first; with one direction, its last.
#include "tessera/models/architecture.h"
#include "tessera/models/left_align.h"
#include "tessera/models/residual_dtype.h"
#include "tessera/models/settings.h"
#include "tessera/nn/attention/additive.h"
#include "tessera/nn/attention/cache.h"
#include "tessera/nn/embedding.h"
#include "tessera/nn/recurrent.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/unary.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

struct BahdanauSettings {
    std::int64_t source_vocabulary, target_vocabulary, embedding, hidden, attention, layers;
    double dropout;
    std::int64_t start_token;
    bool bidirectional;

    std::int64_t annotation() const { return hidden * (bidirectional ? 2 : 1); }
};

// What the decoder knows of the source, and its own state.
struct Translation {
    Tensor states, projected_keys, lengths;  // (B, S, annotation), (B, S, attention), (B) or undefined
    nn::RecurrentState state;
};

class Bahdanau : public Model {
   public:
    Bahdanau(const Config& given, const BahdanauSettings& s)
        : source_tokens_(s.source_vocabulary, s.embedding),
          target_tokens_(s.target_vocabulary, s.embedding),
          encoder_({.input_width = s.embedding,
                    .hidden = s.hidden,
                    .layers = s.layers,
                    .dropout = s.dropout,
                    .bidirectional = s.bidirectional}),
          decoder_({.input_width = s.annotation() + s.embedding,
                    .hidden = s.hidden,
                    .layers = s.layers,
                    .dropout = s.dropout}),
          attention_({.query_width = s.hidden, .key_width = s.annotation(), .hidden = s.attention}),
          head_(s.hidden, s.target_vocabulary) {
        config = given;
        decoder_start_token = s.start_token;
        capabilities = {Capability::Generate, Capability::EncodeDecode, Capability::Align};
        for (std::int64_t i = 0; s.bidirectional && i < s.layers; ++i) first_state_.emplace_back(s.hidden, s.hidden);
        for (const char* name :
             {"source_tokens", "target_tokens", "encoder", "first_state", "decoder", "attention", "head"})
            weights.names.push_back({name, name});
    }

    Tensor forward(const Batch& batch, const nn::Context& context, const Observer& observer) const override {
        enum Use : std::uint64_t { InEncoder, InDecoder };
        Translation translation = read(batch, context.child(InEncoder));
        if (observer) observer("encoder_last_hidden", translation.states);
        return write(target_of(batch), translation, context.child(InDecoder));
    }

    Tensor loss(const Batch& batch, const LossOptions& options, const nn::Context& context) const override {
        check(batch.labels.defined(), "labels: the target is needed to train");
        return ops::cross_entropy(forward(batch, context, {}), batch.labels, options.cross_entropy());
    }

    std::unique_ptr<DecodingSession> decode(std::int64_t capacity) const override;
    std::int64_t vocabulary() const override { return target_tokens_.weight.size(0); }

    void visit(const nn::Visitor& visitor) override {
        visitor("source_tokens", source_tokens_);
        visitor("target_tokens", target_tokens_);
        visitor("encoder", encoder_);
        visitor("first_state", first_state_);
        visitor("decoder", decoder_);
        visitor("attention", attention_);
        visitor("head", head_);
    }

    Translation read(const Batch& batch, const nn::Context& context) const {
        const Aligned source = align(batch.input_ids, batch.attention_mask);
        Translation translation;
        translation.lengths = source.lengths;
        nn::RecurrentState read;
        translation.states =
            encoder_.forward(to_residual_dtype(source_tokens_.forward(source.ids)), context, &read, source.lengths);
        translation.state = first_state_.empty() ? std::move(read) : first_state(read);
        translation.projected_keys = attention_.project_keys(translation.states);
        return translation;
    }

    // Scores (B, U, V) after each token of `ids`; the translation's state goes along.
    Tensor write(const Tensor& ids, Translation& translation, const nn::Context& context) const {
        const Tensor embedded = to_residual_dtype(target_tokens_.forward(ids));
        std::vector<Tensor> states, looked_at;
        for (std::int64_t t = 0; t < ids.size(1); ++t) {
            const Tensor& last = translation.state.states.back();
            const ops::AdditiveAttention found =
                attention_.forward(ops::reshape(last, {last.size(0), 1, last.size(1)}), translation.projected_keys,
                                   translation.states, translation.lengths);
            const Tensor input = ops::concat({found.output, ops::slice(embedded, 1, t, t + 1)}, 2);
            states.push_back(decoder_.forward(input, context.child(static_cast<std::uint64_t>(t)), &translation.state));
            if (context.cross_attention) looked_at.push_back(found.weights);
        }
        if (context.cross_attention) context.cross_attention->push_back(ops::concat(looked_at, 1));
        return head_.forward(ops::concat(states, 1));
    }

    // decoder_input_ids; or the labels behind the start token, as many as there are; or the start token alone.
    Tensor target_of(const Batch& batch) const {
        if (batch.decoder_input_ids.defined()) return batch.decoder_input_ids;
        check(batch.input_ids.defined(), "input_ids: there is no source");
        const std::int64_t rows = batch.input_ids.size(0);
        const Tensor start =
            Tensor::full({rows, 1}, static_cast<double>(decoder_start_token), DType::I64, batch.input_ids.device());
        if (!batch.labels.defined()) return start;
        check(batch.labels.rank() == 2 && batch.labels.size(0) == rows, "labels: expected (", rows, ", U), found ",
              batch.labels.shape());
        std::vector<std::int64_t> ids = batch.labels.to_vector<std::int64_t>();
        for (std::int64_t& id : ids) id = id < 0 ? decoder_start_token : id;  // ignored labels are padding at the end
        const Tensor labels = Tensor::from(ids, batch.labels.shape()).to(batch.input_ids.device());
        return ops::concat({start, ops::slice(labels, 1, 0, labels.size(1) - 1)}, 1);
    }

   private:
    // Of each of the decoder's layers, from the backward state of the encoder's.
    nn::RecurrentState first_state(const nn::RecurrentState& read) const {
        nn::RecurrentState first;
        for (std::size_t i = 0; i < first_state_.size(); ++i)
            first.states.push_back(ops::tanh(first_state_[i].forward(read.states[2 * i + 1])));
        return first;
    }

    nn::Embedding source_tokens_, target_tokens_;
    nn::Recurrent encoder_, decoder_;
    std::vector<nn::Linear> first_state_;  // none with one direction
    nn::AdditiveAttention attention_;
    nn::Linear head_;
};

class BahdanauSession : public DecodingSession {
   public:
    explicit BahdanauSession(const Bahdanau& model) : model_(model) {}

    Tensor prefill(const Batch& prompt) override {
        const NoGrad no_grad;
        Batch source = prompt;
        source.labels = {};
        translation_ = model_.read(source, {});
        return step(model_.target_of(source));
    }

    Tensor step(const Tensor& ids) override {
        const NoGrad no_grad;
        return ops::select(model_.write(ids, translation_, {}), 1, ids.size(1) - 1);
    }

    void reorder(std::span<const std::int64_t> rows) override {
        for (Tensor* tensor : {&translation_.states, &translation_.projected_keys, &translation_.lengths})
            if (tensor->defined()) *tensor = nn::gather_rows(*tensor, rows);
        nn::reorder(translation_.state, rows);
    }

    std::int64_t cache_bytes() const override {
        std::int64_t bytes = 0;
        for (const Tensor& tensor : {translation_.states, translation_.projected_keys})
            if (tensor.defined()) bytes += bytes_of(tensor.dtype(), tensor.elements());
        return bytes;
    }

   private:
    const Bahdanau& model_;
    Translation translation_;
};

std::unique_ptr<DecodingSession> Bahdanau::decode(std::int64_t) const {
    return std::make_unique<BahdanauSession>(*this);
}

}  // namespace

static std::unique_ptr<Model> bahdanau(const Config& config) {
    const std::int64_t hidden = read_size(config, "hidden_width");
    const BahdanauSettings settings{.source_vocabulary = read_vocabulary(config, "source_vocabulary_size"),
                                    .target_vocabulary = read_vocabulary(config, "target_vocabulary_size"),
                                    .embedding = read_size(config, "embedding_width", hidden),
                                    .hidden = hidden,
                                    .attention = read_size(config, "attention_width", hidden),
                                    .layers = read_count(config, "layers", 1),
                                    .dropout = read_dropout(config, "dropout", 0),
                                    .start_token = config.integer("decoder_start_token_id"),
                                    .bidirectional = config.boolean("bidirectional", false)};
    if (settings.start_token < 0 || settings.start_token >= settings.target_vocabulary)
        config.reject("decoder_start_token_id",
                      text_of(settings.start_token, " is outside a vocabulary of ", settings.target_vocabulary));
    return std::make_unique<Bahdanau>(config, settings);
}

static const RegisterArchitecture register_bahdanau(
    {"bahdanau", "Bahdanau et al., Neural Machine Translation by Jointly Learning to Align and Translate, 2014",
     bahdanau});

}  // namespace tessera::models
