// Stochastic gradient descent with momentum, as torch.optim.SGD: decay is added to the gradient, and the first step's
// momentum is the gradient itself.
#pragma once

#include "tessera/training/optimizers/optimizer.h"

namespace tessera::training {

struct SgdOptions {
    double momentum = 0;
    double weight_decay = 0;
    bool nesterov = false;
};

class Sgd final : public Optimizer {
   public:
    explicit Sgd(const ParameterBuffer& parameters, const SgdOptions& options = {});

   private:
    void update(double learning_rate) override;
    void visit_moments(const StateVisitor& visit) const override;

    SgdOptions options_;
    Tensor momentum_;  // undefined without momentum
};

}  // namespace tessera::training
