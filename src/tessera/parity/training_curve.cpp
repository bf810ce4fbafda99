// Twenty steps (or however many) of training from a checkpoint: the losses, gradient norms and learning rates of every
// step, and the final weights.
#include <cmath>
#include <map>

#include "tessera/models/catalog.h"
#include "tessera/ops/views.h"
#include "tessera/parity/comparison.h"
#include "tessera/tensor/tape.h"
#include "tessera/training/optimizers/adamw.h"
#include "tessera/training/optimizers/parameter_buffer.h"
#include "tessera/training/optimizers/schedule.h"

namespace tessera::parity {
void check_training_curve(const Case& run) {
    const std::unique_ptr<models::Model> model = models::load(run.folder);
    if (run.device != cpu) nn::move_to(*model, run.device);
    nn::set_requires_grad(*model, true);
    std::vector<training::Parameter> trained;
    for (const auto& [name, tensor] : nn::parameters(*model)) trained.push_back({name, *tensor});
    const training::ParameterBuffer buffer(trained);
    training::AdamW optimizer(buffer, {.beta1 = run.setting("betas", 0),
                                       .beta2 = run.setting("betas", 1),
                                       .epsilon = run.setting("eps"),
                                       .weight_decay = run.setting("weight_decay")});
    const Tensor data = run.input("data", Values::Integers, {any, any, any});  // (steps, B, T)
    constexpr std::int64_t most_steps = 1 << 20;
    const std::int64_t steps = data.size(0);
    const training::Schedule schedule{.kind = training::ScheduleKind::Cosine,
                                      .peak = run.setting("base_lr"),
                                      .warmup_steps = run.whole("warmup_steps", most_steps),
                                      .total_steps = steps,
                                      .floor_fraction = run.setting("then")};
    std::vector<double> losses, norms, rates;
    for (std::int64_t step = 0; step < steps; ++step) {
        buffer.zero_gradients();
        const Tensor loss = model->loss({.input_ids = ops::select(data, 0, step)});
        backward(loss);
        losses.push_back(loss.item());
        norms.push_back(buffer.clip_gradients(run.setting("clip")));
        rates.push_back(training::learning_rate(schedule, step));
        optimizer.step(rates.back());
    }
    run.compare("losses", Tensor::from(losses, {steps}), forward_tolerance);
    run.compare("grad_norms", Tensor::from(norms, {steps}), gradient_tolerance);
    run.compare("lrs", Tensor::from(rates, {steps}), forward_tolerance);
    std::map<std::string, Tensor> finals;
    for (auto& [name, value] :
         models::checkpoint_tensors(*model, model->weights, [](const Tensor& parameter) { return parameter.detach(); }))
        finals["final." + name] = value;
    for (const auto& [name, tensor] : run.expected.tensors)
        if (name.starts_with("final.")) run.compare(name, finals[name], gradient_tolerance);
}

}  // namespace tessera::parity
