// The loss that keeps experts equally busy (Shazeer et al. 2017, Fedus et al. 2021), over what its families take
// together. `ops::load_balancing_loss` has its definition.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/models/model.h"

namespace tessera::models {

struct ExpertBalance {
    // What experts are equally busy over, and what the loss is where they are:
    enum class Over : std::uint8_t {
        Model,    // all tokens of all layers as if they were one layer's: the experts per token
        Layer,    // the tokens of a layer: 1, summed over layers
        Sequence  // the tokens of a sequence in a layer: 1, the mean of sequences summed over layers
    };
    Over over = Over::Model;
    double weight = 0;           // that the config gives it in the model's loss
    bool only_training = false;  // the reference has it in gradients, and not in the loss that it reports

    double weight_in(const LossOptions& options, bool training) const {
        if (options.balance) return *options.balance;
        return only_training && !training ? 0 : weight;
    }
};

// A weight of a loss: not below 0.
double read_loss_weight(const Config& config, const char* field, double fallback);

// Of the choices that the layers made for a batch; padding does not count.
Tensor balance_loss(const std::vector<nn::RouterChoice>& layers, const Batch& batch, ExpertBalance::Over over);

}  // namespace tessera::models
