// The last examples of the training data, which are not learned from: settings can be chosen on them, and a test set
// stays unseen until the end.
#pragma once

#include "tessera/training/objectives/objective.h"

namespace tessera::training {

class HeldOut final : public Objective {
   public:
    // The objective stays alive as long as this.
    HeldOut(const Objective& all, std::int64_t count) : all_(all), count_(count) {}

    std::int64_t examples() const override { return count_; }
    TrainingBatch batch(const std::vector<std::int64_t>& examples, RandomKey key) const override {
        std::vector<std::int64_t> moved;
        for (const std::int64_t example : examples) moved.push_back(all_.examples() - count_ + example);
        return all_.batch(moved, key);
    }
    Tensor loss(const models::Model& model, const TrainingBatch& batch, const models::LossOptions& options,
                const nn::Context& context) const override {
        return all_.loss(model, batch, options, context);
    }
    Accuracy answers(const models::Model& model, const TrainingBatch& batch) const override {
        return all_.answers(model, batch);
    }
    const char* unit() const override { return all_.unit(); }

   private:
    const Objective& all_;
    std::int64_t count_;
};

}  // namespace tessera::training
