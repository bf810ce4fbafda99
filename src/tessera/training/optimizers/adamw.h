// AdamW (Loshchilov & Hutter 2019), as torch.optim.AdamW.
#pragma once

#include "tessera/training/optimizers/optimizer.h"

namespace tessera::training {

struct AdamWOptions {
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0.01;
};

class AdamW final : public Optimizer {
   public:
    explicit AdamW(const ParameterBuffer& parameters, const AdamWOptions& options = {});

   private:
    void update(double learning_rate) override;
    void visit_moments(const StateVisitor& visit) const override;

    AdamWOptions options_;
    Tensor first_moment_, second_moment_;
};

}  // namespace tessera::training
