#include "tessera/training/run/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tessera/core/error.h"
#include "tessera/core/interruption.h"
#include "tessera/core/memory.h"
#include "tessera/core/parallel.h"
#include "tessera/data/permutation.h"
#include "tessera/ops/binary.h"
#include "tessera/tensor/tape.h"
#include "tessera/training/run/epochs.h"
#include "tessera/training/run/expert_load.h"
#include "tessera/training/run/memory_use.h"

namespace tessera::training {
namespace {

// Uses of the recipe's seed.
enum Use : std::uint64_t { Order = 1, Noise = 2, Dropout = 3 };

constexpr double smoothing = 0.98;  // of the shown loss, and of what a leap is measured against
constexpr std::int64_t steps_before_leaps = 20;

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

nn::Module& learning(models::Model& model, const Objective& objective) {
    if (models::has_adapters(model))
        models::let_adapters_learn(model, !objective.classes().empty());
    else
        nn::set_requires_grad(model, true);
    return model;
}

}  // namespace

double smoothed(double before, double loss, std::int64_t count) {
    return before + (loss - before) * (1 - smoothing) / (1 - std::pow(smoothing, static_cast<double>(count)));
}

Trainer::Trainer(models::Model& model, const Objective& objective, const Recipe& recipe, Device device)
    : model_(model),
      objective_(objective),
      recipe_(recipe),
      device_(device),
      phases_(static_cast<std::int64_t>(objective.phases().size())),
      groups_(learning(model, objective), model.weights, recipe, objective.phases()) {
    learned_examples(recipe, objective.examples());  // throws where none is left
    if (keeps_average())
        groups_.visit_values([&](const Tensor& flat) { averages_.push_back(flat.to(DType::F32).clone()); });
    release_cached(device);  // what the parameters lay in before they moved into flat buffers
}

Trainer::~Trainer() {
    if (ahead_.valid()) ahead_.wait();
}

TrainingBatch Trainer::make_batch(std::int64_t number) const {
    std::vector<std::int64_t> examples;
    const std::int64_t all = learned_examples(recipe_, objective_.examples());
    for (std::int64_t i = number * recipe_.batch; i < (number + 1) * recipe_.batch; ++i) {
        const std::int64_t at = i * recipe_.shards + recipe_.shard;  // in the order that all processes share
        examples.push_back(recipe_.shuffle ? data::shuffled_example(at, all, recipe_.key(Use::Order)) : at % all);
    }
    return objective_.batch(examples, recipe_.key(Use::Noise).child(static_cast<std::uint64_t>(number)));
}

TrainingBatch Trainer::next_batch(std::int64_t number) {
    TrainingBatch batch = ahead_.valid() && ahead_number_ == number ? ahead_.get() : make_batch(number);
    ahead_number_ = number + 1;
    if (ahead_number_ >= recipe_.steps * recipe_.accumulate) return batch;
    // While this step computes on the same cores, a few of them must do; a team as large as the step's would halve
    // both.
    const int threads = device_ == cpu ? std::max(1, thread_count() / 8) : thread_count();
    ahead_ = std::async(std::launch::async, [this, threads, next = number + 1] {
        set_thread_count(threads);  // of this thread alone
        return make_batch(next);
    });
    return batch;
}

nn::Context Trainer::context_for(const TrainingBatch& batch, std::int64_t number) const {
    nn::Context context = batch.context;
    context.training = true;
    context.recompute = recipe_.recompute;
    context.key = recipe_.key(Use::Dropout).child(static_cast<std::uint64_t>(number));
    return context;
}

void Trainer::learn_from(TrainingBatch batch, std::int64_t number, double share, StepReport& report) {
    batch = models::moved_to(std::move(batch), device_);
    batch.phase = phase();
    nn::Context context = context_for(batch, number);
    std::vector<nn::RouterChoice> choices;
    context.router_choices = &choices;
    const Tensor loss = objective_.loss(model_, batch, recipe_.loss, context);
    check(!choices.empty() || recipe_.loss.balance.value_or(0) == 0, recipe_.resolved.source(),
          ": balance: ", recipe_.loss.balance.value_or(0), ", but the model has no experts to keep busy");
    report.busiest_expert += busiest_expert(choices) * share;
    choices.clear();  // what the tape alone holds is freed while gradients flow
    report.loss += loss.item() * share;
    backward(share == 1 ? loss : ops::mul(loss, Tensor::scalar(share, loss.dtype(), loss.device())));
}

StepReport Trainer::step() {
    const auto start = std::chrono::steady_clock::now();
    StepReport report{.step = step_ + 1, .epoch = epochs_after(step_ + 1), .learning_rate = current_learning_rate()};
    groups_.zero_gradients();
    const ActivationMeter activations(device_);
    const std::int64_t first = step_ * recipe_.accumulate;
    std::vector<TrainingBatch> batches;
    std::string origin;
    std::int64_t targets = 0;
    for (std::int64_t part = 0; part < recipe_.accumulate; ++part) {
        batches.push_back(next_batch(first + part));
        targets += targets_of(batches.back());
        report.units += batches.back().units;
        origin += (origin.empty() ? "" : "; ") + batches.back().origin;
    }
    // Each batch counts by its targets, so that several are as good as one large one.
    for (std::int64_t part = 0; part < recipe_.accumulate; ++part) {
        const auto counted = static_cast<double>(targets_of(batches[static_cast<std::size_t>(part)]));
        const double share = recipe_.accumulate == 1 ? 1 : counted / static_cast<double>(targets);
        learn_from(std::move(batches[static_cast<std::size_t>(part)]), first + part, share, report);
    }
    check_loss(report.loss, origin);
    report.gradient_norm = groups_.clip_gradients(recipe_.clip);
    check(std::isfinite(report.gradient_norm), "step ", step_ + 1, ": the gradients' norm is ",
          std::abs(report.gradient_norm), "; the batch: ", origin);
    groups_.step(report.learning_rate, phase());
    if (keeps_average()) update_average();
    smoothed_loss_ = smoothed(smoothed_loss_, report.loss, step_of_phase() + 1);
    report.smoothed_loss = smoothed_loss_;
    ++step_;
    report.seconds = seconds_since(start);
    report.memory_bytes = memory_held(device_);
    report.activation_bytes = activations.bytes();
    return report;
}

double Trainer::epochs_after(std::int64_t steps) const {
    return training::epochs_after(recipe_, objective_.examples(), steps);
}

std::int64_t Trainer::phase() const {
    return phases_ == 0 ? -1 : std::min(step_ * phases_ / recipe_.steps, phases_ - 1);
}

// The first step that phase() gives this phase for.
std::int64_t Trainer::phase_begin(std::int64_t phase) const {
    return phase <= 0 ? 0 : (phase * recipe_.steps + phases_ - 1) / phases_;
}

// The schedule begins anew with each phase.
double Trainer::current_learning_rate() const {
    Schedule schedule = recipe_.schedule;
    if (phases_ > 0) schedule.total_steps = phase_begin(phase() + 1) - phase_begin(phase());
    return learning_rate(schedule, step_of_phase());
}

void Trainer::check_loss(double loss, const std::string& origin) const {
    check(std::isfinite(loss), "step ", step_ + 1, ": the loss is ", std::isnan(loss) ? std::abs(loss) : loss,
          "; the batch: ", origin);
    const bool leaps =
        recipe_.spike > 0 && step_of_phase() >= steps_before_leaps && loss > recipe_.spike * smoothed_loss_;
    check(!leaps, "step ", step_ + 1, ": the loss leapt to ", loss, " from an average of ", smoothed_loss_,
          " (spike=0 goes on all the same); the batch: ", origin);
}

Evaluation Trainer::evaluate(const Objective& validation) const {
    const std::int64_t all = (validation.examples() + recipe_.batch - 1) / recipe_.batch;  // batches
    return training::evaluate(
        model_, validation, recipe_,
        {.device = device_, .most_examples = std::min(recipe_.evaluate_batches, all) * recipe_.batch});
}

std::int64_t targets_of(const TrainingBatch& batch) {
    if (!batch.inputs.labels.defined()) return batch.units;
    const std::vector<std::int64_t> labels = batch.inputs.labels.to_vector<std::int64_t>();
    return std::count_if(labels.begin(), labels.end(), [](std::int64_t label) { return label != -100; });
}

Evaluation evaluate(const models::Model& model, const Objective& objective, const Recipe& recipe,
                    const EvaluationOptions& options) {
    const NoGrad no_grad;
    Evaluation result;
    const std::int64_t all = std::min(objective.examples(), options.most_examples);
    for (std::int64_t number = 0; number * recipe.batch < all; ++number) {
        stop_if_asked();
        std::vector<std::int64_t> examples;
        for (std::int64_t i = number * recipe.batch; i < std::min((number + 1) * recipe.batch, all); ++i)
            examples.push_back(i);
        TrainingBatch batch =
            objective.batch(examples, recipe.key(Use::Noise).child(static_cast<std::uint64_t>(number)));
        const std::int64_t targets = targets_of(batch);
        if (targets == 0) continue;
        batch = models::moved_to(std::move(batch), options.device);
        // What is told is how well the model predicts: the experts' balance is left out.
        result.loss +=
            objective.loss(model, batch, {.balance = 0.0}, batch.context).item() * static_cast<double>(targets);
        result.targets += targets;
        const Accuracy answers = objective.answers(model, batch);
        result.answers.total += answers.total;
        result.answers.correct += answers.correct;
        if (options.on_progress) options.on_progress(examples.back() + 1, all);
    }
    check(result.targets > 0, recipe.resolved.source(), ": the data holds nothing to predict");
    result.loss /= static_cast<double>(result.targets);
    return result;
}

void Trainer::visit_state(const Optimizer::StateVisitor& visit) const {
    groups_.visit_state(visit);
    for (std::size_t i = 0; i < averages_.size(); ++i) visit(text_of("average", i), averages_[i]);
}

void Trainer::restore(std::int64_t step, double smoothed_loss) {
    step_ = step;
    smoothed_loss_ = smoothed_loss;
}

void Trainer::update_average() const {
    std::size_t at = 0;
    const NoGrad no_grad;
    groups_.visit_values([&](const Tensor& flat) {
        const Tensor& average = averages_[at++];
        const auto scalar = [&](double value) { return Tensor::scalar(value, DType::F32, average.device()); };
        average.copy_from(ops::add(ops::mul(average, scalar(recipe_.ema)),
                                   ops::mul(flat.to(DType::F32).detach(), scalar(1 - recipe_.ema))));
    });
}

void Trainer::with_average(const std::function<void()>& body) const {
    std::vector<Tensor> kept;
    groups_.visit_values([&](const Tensor& flat) {
        kept.push_back(flat.clone());
        flat.copy_from(averages_[kept.size() - 1]);
    });
    const auto put_back = [&] {
        std::size_t at = 0;
        groups_.visit_values([&](const Tensor& flat) { flat.copy_from(kept[at++]); });
    };
    try {
        body();
    } catch (...) {  // what is learned is still to be saved
        put_back();
        throw;
    }
    put_back();
}

}  // namespace tessera::training
