// Steps of SGD, SGD with momentum, AdamW and Adafactor on given gradients, from the same start.
#include <memory>

#include "tessera/ops/views.h"
#include "tessera/parity/comparison.h"
#include "tessera/training/optimizers/adafactor.h"
#include "tessera/training/optimizers/adamw.h"
#include "tessera/training/optimizers/parameter_buffer.h"
#include "tessera/training/optimizers/sgd.h"

namespace tessera::parity {
namespace {

using Make = std::function<std::unique_ptr<training::Optimizer>(const training::ParameterBuffer&)>;

void check_optimizer(const Case& run, const std::string& name, const Make& make) {
    Tensor w = run.input("w0", Values::Floats, {any, any}).clone(), b = run.input("b0", Values::Floats, {any}).clone();
    const Tensor w_gradients = run.input("grad_w", Values::Floats, {any, w.size(0), w.size(1)}),
                 b_gradients = run.input("grad_b", Values::Floats, {w_gradients.size(0), b.size(0)});
    w.set_requires_grad();
    b.set_requires_grad();
    const training::ParameterBuffer buffer({{"w", w}, {"b", b}}, [](const training::Parameter&) { return true; });
    const std::unique_ptr<training::Optimizer> optimizer = make(buffer);
    for (std::int64_t step = 0; step < w_gradients.size(0); ++step) {
        w.grad().copy_from(ops::select(w_gradients, 0, step));
        b.grad().copy_from(ops::select(b_gradients, 0, step));
        optimizer->step(run.setting("lr"));
    }
    run.compare(name + ".w10", w, forward_tolerance);
    run.compare(name + ".b10", b, forward_tolerance);
}

}  // namespace

void check_optimizers(const Case& run) {
    const double decay = run.setting("weight_decay");
    using training::ParameterBuffer;
    check_optimizer(run, "sgd", [](const ParameterBuffer& buffer) { return std::make_unique<training::Sgd>(buffer); });
    check_optimizer(run, "sgd_momentum", [&](const ParameterBuffer& buffer) {
        return std::make_unique<training::Sgd>(
            buffer, training::SgdOptions{.momentum = run.setting("momentum"), .weight_decay = decay});
    });
    check_optimizer(run, "adamw", [&](const ParameterBuffer& buffer) {
        return std::make_unique<training::AdamW>(buffer, training::AdamWOptions{.beta1 = run.setting("betas", 0),
                                                                                .beta2 = run.setting("betas", 1),
                                                                                .epsilon = run.setting("eps"),
                                                                                .weight_decay = decay});
    });
    check_optimizer(run, "adafactor", [&](const ParameterBuffer& buffer) {
        return std::make_unique<training::Adafactor>(buffer, training::AdafactorOptions{.weight_decay = decay});
    });
}

}  // namespace tessera::parity
