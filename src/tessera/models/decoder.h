// A decoder-only language model: tokens → embeddings → a stack of blocks → logits of the next token. Families differ in
// what they put into it.
#pragma once

#include "tessera/models/expert_balance.h"
#include "tessera/models/model.h"
#include "tessera/models/padding.h"
#include "tessera/nn/blocks/stack.h"
#include "tessera/nn/embedding.h"
#include "tessera/nn/linear.h"

namespace tessera::models {

struct DecoderParts {
    std::int64_t vocabulary = 0;
    std::int64_t padding_id = -1;  // whose embedding learns nothing from being looked up
    std::int64_t width = 0;
    std::int64_t learned_positions = 0;  // 0: the blocks know positions themselves
    std::int64_t context_length = 0;     // where no positions are learned; 0: nobody says
    double embedding_scale = 1;
    double dropout = 0;  // of the embeddings
    std::vector<std::unique_ptr<nn::Block>> blocks = {};
    std::unique_ptr<nn::Layer> final_norm = {};
    bool tied = false;  // the embedding is the output head too
    double logit_soft_cap = 0;
    ExpertBalance balance = {};  // of a model with experts
};

class Decoder : public Model {
   public:
    Decoder(const Config& config, DecoderParts parts, WeightTable weights);

    Tensor forward(const Batch& batch, const nn::Context& context = {}, const Observer& observer = {}) const override;
    Tensor loss(const Batch& batch, const LossOptions& options = {}, const nn::Context& context = {}) const override;
    std::unique_ptr<DecodingSession> decode(std::int64_t capacity) const override;
    std::int64_t longest_text() const override { return positions_.weight.defined() ? positions_.weight.size(0) : 0; }
    std::int64_t context_length() const override { return longest_text() > 0 ? longest_text() : context_length_; }
    void visit(const nn::Visitor& visitor) override;

    // The steps of forward, for models that put something else between the embeddings (images).
    Tensor embed(const Tensor& ids, const nn::Context& context, const Tensor& positions = {}) const;
    // Embeddings (B, T, width) → hidden states after the final norm. The context brings mask and positions.
    Tensor run(const Tensor& embedded, const nn::Context& context, nn::StackCache* cache = nullptr,
               const Observer& observer = {}) const;
    Tensor logits(const Tensor& hidden) const;
    // The mean loss of predicting each label from the hidden state before it; −100 is ignored.
    Tensor next_token_loss(const Tensor& hidden, const Tensor& labels, const LossOptions& options) const;
    nn::StackCache make_cache(std::int64_t capacity) const { return stack_.make_cache(capacity); }

    std::int64_t vocabulary() const override { return tokens_.weight.size(0); }
    std::int64_t width() const { return tokens_.weight.size(1); }
    // Past so many tokens keys are turned otherwise, and a cache must be read again; 0: never.
    std::int64_t restart_length() const { return restart_length_; }
    bool reads_in_chunks(std::int64_t tokens) const;

   private:
    nn::Embedding tokens_;
    nn::Embedding positions_;  // without a weight unless learned
    nn::Stack stack_;
    nn::Linear head_;  // without a weight when tied
    double embedding_scale_, dropout_, logit_soft_cap_;
    bool tied_;
    std::int64_t restart_length_ = 0;
    std::int64_t context_length_;
    ExpertBalance balance_;
};

// A generation from a decoder's caches. Models that put something else before the text read their prompt otherwise.
class DecoderSession : public DecodingSession {
   public:
    // `first_position`: where the first token of a prompt stands.
    DecoderSession(const Decoder& decoder, std::int64_t capacity, std::int64_t first_position = 0);

    Tensor prefill(const Batch& prompt) override;
    Tensor step(const Tensor& ids) override;
    void reorder(std::span<const std::int64_t> rows) override;
    bool truncate(std::int64_t tokens) override;
    std::int64_t cache_bytes() const override { return nn::cache_bytes(cache_); }

   protected:
    void set_padding(const Padding& padding);  // of the prompt, for everything after it too
    // Embeddings after what the caches hold → the logits after the last of them.
    Tensor advance(const Tensor& embedded, nn::Context context);

   private:
    Tensor hidden_after(const Tensor& ids);  // (B, T, width)
    Tensor next_positions(const Tensor& ids) const;
    // The ids to read now: these, or all since the beginning where the cache has just become useless.
    Tensor with_forgotten(const Tensor& ids);

    const Decoder& decoder_;
    nn::StackCache cache_;
    nn::GrowingBuffer history_;              // all ids so far, where they may have to be read again
    Tensor starts_;                          // (B) where each row's tokens begin; undefined where all begin at 0
    std::vector<std::int64_t> host_starts_;  // the same on the host, where positions are counted
    std::int64_t first_position_;
};

}  // namespace tessera::models
