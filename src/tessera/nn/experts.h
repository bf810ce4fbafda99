// A mixture of experts in place of the feed-forward network (Shazeer et al. 2017): a router picks k gated networks per
// token. Mixtral normalises the chosen weights; DeepSeek-V2 adds experts that every token shares, and may limit the
// choice to a few groups.
#pragma once

#include "tessera/nn/feed_forward.h"
#include "tessera/ops/routing.h"

namespace tessera::nn {

struct ExpertsSettings {
    std::int64_t width = 0;
    std::int64_t hidden = 0;  // of one expert
    std::int64_t experts = 0;
    std::int64_t shared_hidden = 0;  // of the part every token goes through; 0: none
    Activation activation = Activation::Silu;
    ops::RoutingOptions routing = {};
};

class Experts : public PositionWise {
   public:
    explicit Experts(const ExpertsSettings& settings);

    Tensor forward(const Tensor& x, const Context& context = {}) const override;
    void visit(const Visitor& visitor) override;
    const ExpertsSettings& settings() const { return settings_; }

    Linear router;
    Tensor gate, up, down;  // (E, hidden, width), (E, hidden, width), (E, width, hidden): one matrix per expert
    std::unique_ptr<FeedForward> shared;

   private:
    ExpertsSettings settings_;
};

}  // namespace tessera::nn
