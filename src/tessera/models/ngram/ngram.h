// An n-gram language model: the next token depends on the n − 1 before it, through a table with one row per context.
#pragma once

#include <vector>

#include "tessera/models/count_trainable.h"
#include "tessera/models/model.h"

namespace tessera::models {

// The table holds log-probabilities, so it is a model like any other: it can be trained by gradients, and counting is
// the shorter way to the same maximum of the likelihood.
class Ngram : public Model, public CountTrainable {
   public:
    explicit Ngram(const Config& config);

    Tensor forward(const Batch& batch, const nn::Context& context = {}, const Observer& observer = {}) const override;
    Tensor loss(const Batch& batch, const LossOptions& options = {}, const nn::Context& context = {}) const override;
    std::unique_ptr<DecodingSession> decode(std::int64_t capacity) const override;
    std::int64_t vocabulary() const override { return vocabulary_; }
    void visit(const nn::Visitor& visitor) override { visitor("log_probabilities", table_); }

    // Adds what follows what in the batch's rows, where the mask has ones.
    void count(const Batch& batch);
    void count(std::span<const std::int64_t> tokens, bool begins) override;
    // The table from all that was counted: (count + smoothing) / (total + smoothing · vocabulary). A context never
    // seen, without smoothing, leaves every token equally probable.
    void estimate() override;

    // The row of the table for what comes after ids[begin … end): their last n − 1, or the beginning of a text where
    // they are fewer.
    std::int64_t context_of(const std::int64_t* begin, const std::int64_t* end) const;
    const Tensor& table() const { return table_; }  // (contexts, vocabulary)
    std::int64_t order() const { return order_; }

   private:
    std::int64_t vocabulary_, order_;
    double smoothing_;
    Tensor table_;
    std::vector<double> counts_;
    std::vector<std::int64_t> before_;  // the last tokens of the text that is being counted
};

}  // namespace tessera::models
