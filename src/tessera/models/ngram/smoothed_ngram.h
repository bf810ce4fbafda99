// An n-gram language model of any order that is counted: only contexts that occur take room. config.json names the
// smoothing: "add_k" with k, or "kneser_ney" with an optional discount (models/ngram_counts.h).
#pragma once

#include "tessera/models/count_trainable.h"
#include "tessera/models/model.h"
#include "tessera/models/ngram/ngram_counts.h"

namespace tessera::models {

class SmoothedNgram : public Model, public CountTrainable {
   public:
    explicit SmoothedNgram(const Config& config);

    Tensor forward(const Batch& batch, const nn::Context& context = {}, const Observer& observer = {}) const override;
    Tensor loss(const Batch& batch, const LossOptions& options = {}, const nn::Context& context = {}) const override;
    std::unique_ptr<DecodingSession> decode(std::int64_t capacity) const override;
    std::int64_t vocabulary() const override { return settings_.vocabulary; }
    void visit(const nn::Visitor& visitor) override { visitor("contexts", tree_); }

    void count(std::span<const std::int64_t> tokens, bool begins) override;
    void estimate() override;

   private:
    // The log-probabilities of what comes after [begin, end), whose last n − 1 tokens count.
    void score(const ContextTree::Reader& tree, const std::int64_t* begin, const std::int64_t* end,
               std::span<float> logits) const;

    SmoothingSettings settings_;
    ContextTree tree_;
    NgramCounts counts_;
};

}  // namespace tessera::models
