// An encoder–decoder (Vaswani et al. 2017): the encoder reads the input both ways, the decoder writes token by token
// and looks at the encoder's states. Families differ in what they put into it.
#pragma once

#include "tessera/models/model.h"
#include "tessera/models/padding.h"
#include "tessera/nn/attention/relative_bias.h"
#include "tessera/nn/blocks/stack.h"
#include "tessera/nn/embedding.h"
#include "tessera/nn/linear.h"

namespace tessera::models {

// What stands between the token embeddings and a stack: positions of one kind, and perhaps a norm.
struct InputEmbeddingParts {
    std::int64_t learned_positions = 0;  // the longest sequence; 0: none are learned
    std::int64_t position_offset = 0;    // rows of the learned table before position 0
    Tensor fixed_positions = {};         // (longest sequence, width), neither learned nor stored
    std::unique_ptr<nn::RelativeBias> relative_bias = {};
    std::unique_ptr<nn::Layer> norm = {};
};

struct EncoderDecoderParts {
    std::int64_t vocabulary = 0;
    std::int64_t decoder_vocabulary = 0;  // 0: the decoder uses the encoder's embedding
    std::int64_t width = 0;
    double embedding_scale = 1;
    double dropout = 0;          // of the embeddings
    bool drops_outputs = false;  // the same on what leaves each stack
    InputEmbeddingParts encoder_input = {}, decoder_input = {};
    std::vector<std::unique_ptr<nn::Block>> encoder_blocks = {};
    std::vector<std::unique_ptr<nn::CrossBlock>> decoder_blocks = {};
    std::unique_ptr<nn::Layer> encoder_norm = {}, decoder_norm = {};  // at the top of the stacks
    bool tied = true;                                                 // the decoder's embedding is the output head too
    double head_scale = 1;                                            // of the states that the head sees
    bool has_logits_bias = false;                                     // a fixed one, zero unless loaded
    std::int64_t decoder_start_id = 0, padding_id = 0;
    bool padding_learns = true;  // whether padding's embedding learns from being looked up
};

class InputEmbedding : public nn::Module {
   public:
    InputEmbedding(InputEmbeddingParts parts, std::int64_t width);
    // Embedded tokens (B, T, width), of which `seen` came before; `input` names them in errors.
    Tensor forward(Tensor x, std::int64_t seen, const char* input) const;
    Tensor bias(std::int64_t queries, std::int64_t keys) const;  // undefined without relative positions
    std::int64_t longest_text() const;                           // 0: positions never end
    void visit(const nn::Visitor& visitor) override;

   private:
    InputEmbeddingParts parts_;
    nn::Embedding positions_;  // without a weight unless learned
};

class EncoderDecoder : public Model {
   public:
    EncoderDecoder(const Config& config, EncoderDecoderParts parts, WeightTable weights);

    // Without decoder_input_ids the decoder reads the labels, shifted right behind its start token.
    Tensor forward(const Batch& batch, const nn::Context& context = {}, const Observer& observer = {}) const override;
    Tensor loss(const Batch& batch, const LossOptions& options = {}, const nn::Context& context = {}) const override;
    // `capacity` counts the decoder's tokens. Reading a prompt without decoder_input_ids begins with the start token.
    std::unique_ptr<DecodingSession> decode(std::int64_t capacity) const override;
    std::int64_t longest_text() const override { return decoder_input_.longest_text(); }
    std::int64_t vocabulary() const override { return decoder_tokens().weight.size(0); }
    void visit(const nn::Visitor& visitor) override;

    // The steps of forward.
    nn::Memory encode(const Batch& batch, const nn::Context& context = {}, const Observer& observer = {}) const;
    Tensor run(const Tensor& ids, const nn::Memory& memory, const Padding& padding, const nn::Context& context = {},
               nn::CrossStackCache* cache = nullptr) const;
    Tensor logits(const Tensor& hidden) const;
    // Of the newest `queries` towards all `keys`; undefined without relative positions.
    Tensor decoder_bias(std::int64_t queries, std::int64_t keys) const { return decoder_input_.bias(queries, keys); }
    nn::CrossStackCache make_cache(std::int64_t capacity) const { return decoder_.make_cache(capacity); }

   private:
    const nn::Embedding& decoder_tokens() const { return decoder_tokens_.weight.defined() ? decoder_tokens_ : tokens_; }
    const Tensor& head_weight() const { return head_.weight.defined() ? head_.weight : decoder_tokens().weight; }
    Tensor embed(const nn::Embedding& tokens, const Tensor& ids, const char* input) const;
    Tensor decoder_inputs(const Batch& batch) const;
    Tensor decoder_hidden(const Batch& batch, const nn::Context& context, const Observer& observer) const;

    nn::Embedding tokens_, decoder_tokens_;  // the second without a weight unless the decoder has its own
    InputEmbedding encoder_input_, decoder_input_;
    nn::Stack encoder_;
    nn::CrossStack decoder_;
    nn::Linear head_;     // without a weight when tied
    Tensor logits_bias_;  // (1, V) or undefined
    double embedding_scale_, dropout_, head_scale_;
    bool drops_outputs_;
    std::int64_t padding_id_;
};

}  // namespace tessera::models
