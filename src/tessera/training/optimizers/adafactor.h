// Adafactor (Shazeer & Stern 2018), as transformers.Adafactor: the second moment of a matrix kept as its row and column
// means, updates clipped by their own size, steps relative to the size of the parameter.
#pragma once

#include <vector>

#include "tessera/training/optimizers/optimizer.h"

namespace tessera::training {

struct AdafactorOptions {
    double beta1 = 0;          // 0: no first moment, and no memory for one
    double decay_rate = -0.8;  // beta2 of step t is 1 − t^decay_rate
    double epsilon_square = 1e-30;
    double epsilon_scale = 1e-3;
    double clip_threshold = 1;
    double weight_decay = 0;
    bool scale_parameter = true;
    bool relative_step = false;  // min(1e-2, 1/√t) in place of the given learning rate
    bool warmup_init = false;    // with relative_step: min(1e-6·t, 1/√t)
};

class Adafactor final : public Optimizer {
   public:
    explicit Adafactor(const ParameterBuffer& parameters, const AdafactorOptions& options = {});

   private:
    // One per segment: (L, R) and (L, C) for matrices, (N) for vectors.
    struct Moments {
        Tensor row, column, second;
    };

    void update(double learning_rate) override;
    void visit_moments(const StateVisitor& visit) const override;

    AdafactorOptions options_;
    std::vector<Moments> moments_;
    Tensor first_moment_;
};

}  // namespace tessera::training
