// A recurrent language model: embedding → RNN, GRU or LSTM layers → logits of the next token.
//
//     a_t = W_ah h_{t−1} + W_ax x_t + b_a,   h_t = tanh(a_t),   y_t = softmax(W_yh h_t + b_y)
//
// is the RNN (Elman 1990); GRU (Cho et al. 2014) and LSTM (Hochreiter & Schmidhuber 1997) gate the state.
#include "tessera/models/architecture.h"
#include "tessera/models/left_align.h"
#include "tessera/models/next_token.h"
#include "tessera/models/residual_dtype.h"
#include "tessera/models/settings.h"
#include "tessera/nn/embedding.h"
#include "tessera/nn/linear.h"
#include "tessera/nn/recurrent.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

nn::RecurrentKind read_cell(const Config& config) {
    const std::string cell = config.text("cell");
    if (cell == "rnn") return nn::RecurrentKind::Rnn;
    if (cell == "gru") return nn::RecurrentKind::Gru;
    if (cell == "lstm") return nn::RecurrentKind::Lstm;
    config.reject("cell", text_of("'", cell, "' is not known; there are: rnn, gru, lstm"));
}

class RecurrentLanguageModel : public Model {
   public:
    RecurrentLanguageModel(const Config& settings, const nn::RecurrentSettings& recurrent)
        : tokens_(read_vocabulary(settings, "vocabulary_size"), recurrent.input_width),
          recurrent_(recurrent),
          head_(recurrent.hidden, read_vocabulary(settings, "vocabulary_size")) {
        config = settings;
        capabilities = {Capability::Generate, Capability::Score, Capability::EmbedTexts};
        weights.names = {{"tokens", "tokens"}, {"recurrent", "recurrent"}, {"head", "head"}};
    }

    Tensor forward(const Batch& batch, const nn::Context& context, const Observer& observer) const override {
        const Aligned aligned = align(batch.input_ids, batch.attention_mask);
        const Tensor hidden = moved_back(run(aligned, context, nullptr), aligned);
        if (observer) observer("last_hidden", hidden);
        return head_.forward(hidden);
    }

    Tensor loss(const Batch& batch, const LossOptions& options, const nn::Context& context) const override {
        return next_token_loss(forward(batch, context, {}), batch, options);
    }

    std::unique_ptr<DecodingSession> decode(std::int64_t capacity) const override;
    std::int64_t vocabulary() const override { return tokens_.weight.size(0); }

    void visit(const nn::Visitor& visitor) override {
        visitor("tokens", tokens_);
        visitor("recurrent", recurrent_);
        visitor("head", head_);
    }

    Tensor run(const Aligned& aligned, const nn::Context& context, nn::RecurrentState* state) const {
        return recurrent_.forward(to_residual_dtype(tokens_.forward(aligned.ids)), context, state, aligned.lengths);
    }
    Tensor logits(const Tensor& hidden) const { return head_.forward(hidden); }

   private:
    nn::Embedding tokens_;
    nn::Recurrent recurrent_;
    nn::Linear head_;
};

// All that is kept is the state, however long the text.
class RecurrentSession : public DecodingSession {
   public:
    explicit RecurrentSession(const RecurrentLanguageModel& model) : model_(model) {}

    Tensor prefill(const Batch& prompt) override { return advance(align(prompt.input_ids, prompt.attention_mask)); }
    Tensor step(const Tensor& ids) override { return advance({.ids = ids}); }

    void reorder(std::span<const std::int64_t> rows) override { nn::reorder(state_, rows); }

    std::int64_t cache_bytes() const override {
        std::int64_t bytes = 0;
        for (const auto* tensors : {&state_.states, &state_.cells})
            for (const Tensor& tensor : *tensors)
                if (tensor.defined()) bytes += bytes_of(tensor.dtype(), tensor.elements());
        return bytes;
    }

   private:
    Tensor advance(const Aligned& aligned) {
        const NoGrad no_grad;
        model_.run(aligned, {}, &state_);
        return model_.logits(state_.states.back());  // after each row's last token, wherever that stands
    }

    const RecurrentLanguageModel& model_;
    nn::RecurrentState state_;
};

std::unique_ptr<DecodingSession> RecurrentLanguageModel::decode(std::int64_t) const {
    return std::make_unique<RecurrentSession>(*this);
}

}  // namespace

static std::unique_ptr<Model> rnn_lm(const Config& config) {
    const std::int64_t hidden = read_size(config, "hidden_width");
    return std::make_unique<RecurrentLanguageModel>(
        config, nn::RecurrentSettings{.kind = read_cell(config),
                                      .input_width = read_size(config, "embedding_width", hidden),
                                      .hidden = hidden,
                                      .layers = read_count(config, "layers", 1),
                                      .dropout = read_dropout(config, "dropout", 0)});
}

static const RegisterArchitecture register_rnn_lm(
    {"rnn_lm", "Mikolov et al., Recurrent Neural Network Based Language Model, 2010", rnn_lm});

}  // namespace tessera::models
