#include "tessera/training/optimizers/sgd.h"

#include "tessera/kernels/optimizer.h"

namespace tessera::training {

Sgd::Sgd(const ParameterBuffer& parameters, const SgdOptions& options)
    : Optimizer(parameters), options_(options), momentum_(options.momentum != 0 ? zero_state() : Tensor()) {
    check(!options.nesterov || options.momentum != 0, "sgd: Nesterov's step needs momentum");
}

void Sgd::update(double learning_rate) {
    kernels::SgdStep step{.learning_rate = learning_rate,
                          .momentum = options_.momentum,
                          .nesterov = options_.nesterov,
                          .first = steps() == 1};
    over_decay_groups([&](std::int64_t first, std::int64_t count, bool decays) {
        step.weight_decay = decays ? options_.weight_decay : 0;
        kernels::sgd.on(master().device())(step, {.values = flat_piece(master(), first, count),
                                                  .gradients = flat_piece(parameters_.gradients(), first, count),
                                                  .momentum = flat_piece(momentum_, first, count),
                                                  .rounded = flat_piece(rounded(), first, count)});
    });
}

void Sgd::visit_moments(const StateVisitor& visit) const {
    if (momentum_.defined()) visit_flat("momentum", momentum_, visit);
}

}  // namespace tessera::training
