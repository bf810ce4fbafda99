#include "tessera/training/optimizers/adamw.h"

#include "tessera/kernels/optimizer.h"

namespace tessera::training {

AdamW::AdamW(const ParameterBuffer& parameters, const AdamWOptions& options)
    : Optimizer(parameters), options_(options), first_moment_(zero_state()), second_moment_(zero_state()) {}

void AdamW::update(double learning_rate) {
    kernels::AdamWStep step{.learning_rate = learning_rate,
                            .beta1 = options_.beta1,
                            .beta2 = options_.beta2,
                            .epsilon = options_.epsilon,
                            .number = steps()};
    over_decay_groups([&](std::int64_t first, std::int64_t count, bool decays) {
        step.weight_decay = decays ? options_.weight_decay : 0;
        kernels::adamw.on(master().device())(step, {.values = flat_piece(master(), first, count),
                                                    .gradients = flat_piece(parameters_.gradients(), first, count),
                                                    .first_moment = flat_piece(first_moment_, first, count),
                                                    .second_moment = flat_piece(second_moment_, first, count),
                                                    .rounded = flat_piece(rounded(), first, count)});
    });
}

void AdamW::visit_moments(const StateVisitor& visit) const {
    visit_flat("first_moment", first_moment_, visit);
    visit_flat("second_moment", second_moment_, visit);
}

}  // namespace tessera::training
