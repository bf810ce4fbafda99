// An encoder-only language model: tokens + positions + token types → a stack of blocks that look both ways → hidden
// states, or with a masked-language-model head the logits of what stands at each place, or with a classifier those of
// what the whole text is (Devlin et al. 2018).
#pragma once

#include <optional>

#include "tessera/models/model.h"
#include "tessera/nn/blocks/stack.h"
#include "tessera/nn/embedding.h"
#include "tessera/nn/linear.h"
#include "tessera/nn/norm.h"

namespace tessera::models {

struct EncoderParts {
    std::int64_t vocabulary = 0;
    std::int64_t unlearned_id = -1;  // padding, whose embedding learns nothing from being looked up
    std::int64_t width = 0;
    std::int64_t positions = 0;  // rows of the table
    std::int64_t token_types = 0;
    // Unset: positions are 0, 1, 2, … Set: tokens other than this one are counted from padding_id + 1 on, and this one
    // stands at padding_id wherever it is.
    std::optional<std::int64_t> padding_id = {};
    double norm_eps = 1e-12;
    double dropout = 0;  // of the embeddings
    std::vector<std::unique_ptr<nn::Block>> blocks = {};
    // The head; without it, forward gives the last hidden states.
    bool has_head = false;
    nn::Activation head_activation = nn::Activation::Gelu;
    bool tied = true;  // the embedding is the head's matrix too
    // The classifier over the first token, in place of the head; 0 classes: none.
    std::int64_t classes = 0;
    double classifier_dropout = 0;
    bool drops_first_state = false;  // also before the classifier's first layer
    bool first_sees_all = false;     // with a classifier the first token is a global one, unless the batch names others
};

// output(tanh(dense(state of the first token)))
class SequenceClassifier : public nn::Module {
   public:
    explicit SequenceClassifier(const EncoderParts& parts);
    Tensor forward(const Tensor& hidden, const nn::Context& context) const;  // (B, T, width) → (B, classes)
    void visit(const nn::Visitor& visitor) override;

   private:
    nn::Linear dense_, output_;
    double dropout_;
    bool drops_first_state_;
};

// decoder(norm(activation(dense(x)))) + bias, where the decoder may be the token embedding.
class MaskedHead : public nn::Module {
   public:
    explicit MaskedHead(const EncoderParts& parts);
    Tensor forward(const Tensor& hidden, const nn::Embedding& tokens, const nn::Context& context) const;
    void visit(const nn::Visitor& visitor) override;

   private:
    nn::Linear dense_, decoder_;  // the decoder has no weight when tied
    nn::LayerNorm norm_;
    Tensor bias_;  // (V)
    nn::Activation activation_;
};

class Encoder : public Model {
   public:
    Encoder(const Config& config, EncoderParts parts, WeightTable weights);

    // With a head the logits (B, T, V), with a classifier (B, classes), else the last hidden states (B, T, width).
    Tensor forward(const Batch& batch, const nn::Context& context = {}, const Observer& observer = {}) const override;
    // The mean cross entropy of the labels: (B, T), each at its own place, or (B) for a classifier; −100 is ignored.
    Tensor loss(const Batch& batch, const LossOptions& options = {}, const nn::Context& context = {}) const override;
    std::int64_t longest_text() const override { return positions_.weight.size(0) - first_position(); }
    std::int64_t vocabulary() const override { return tokens_.weight.size(0); }
    void visit(const nn::Visitor& visitor) override;

    // The last hidden states, head or not.
    Tensor encode(const Batch& batch, const nn::Context& context = {}, const Observer& observer = {}) const;

   private:
    Tensor embed(const Batch& batch, const nn::Context& context) const;
    Tensor masked_loss(const Batch& batch, const LossOptions& options, const nn::Context& context) const;
    Tensor positions_of(const Tensor& ids) const;
    std::int64_t first_position() const { return padding_id_ ? *padding_id_ + 1 : 0; }

    nn::Embedding tokens_, positions_, token_types_;
    nn::LayerNorm embedding_norm_;
    nn::Stack stack_;
    std::unique_ptr<MaskedHead> head_;
    std::unique_ptr<SequenceClassifier> classifier_;
    std::optional<std::int64_t> padding_id_;
    double dropout_;
    std::string problem_;  // what the classifier's labels are
    bool first_sees_all_;
};

// Whether the folder's class has a masked-language-model head: it is named …ForMaskedLM or …ForPreTraining, or not
// named at all.
bool has_masked_head(const Config& config);
// How many classes it chooses between where it is named …ForSequenceClassification; else 0.
std::int64_t read_text_classes(const Config& config);

}  // namespace tessera::models
