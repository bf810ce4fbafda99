// One step after another: batch, loss on the tape, backward, clipping, optimizer. Everything a step depends on is the
// recipe, the step's number and the state, so a resumed run repeats the uninterrupted one to the bit.
#pragma once

#include <functional>
#include <future>
#include <limits>
#include <memory>

#include "tessera/training/objectives/objective.h"
#include "tessera/training/optimizers/parameter_groups.h"

namespace tessera::training {

struct StepReport {
    std::int64_t step = 0;  // from 1
    double epoch = 0;       // how often the examples have been learned from
    double loss = 0, smoothed_loss = 0, learning_rate = 0, gradient_norm = 0;
    std::int64_t units = 0;  // tokens or images
    double seconds = 0;
    std::int64_t memory_bytes = 0;      // that the process holds, see memory_use.h
    std::int64_t activation_bytes = 0;  // the most that the step took beyond what stays
    double busiest_expert = 0;          // see expert_load.h
};

struct Evaluation {
    double loss = 0;           // the mean over all targets
    std::int64_t targets = 0;  // over how many
    Accuracy answers = {};
};
struct EvaluationOptions {
    Device device = cpu;
    std::int64_t most_examples = std::numeric_limits<std::int64_t>::max();
    std::function<void(std::int64_t done, std::int64_t total)> on_progress = {};  // in examples
};
// Over the first examples of a set, in the data's order.
Evaluation evaluate(const models::Model& model, const Objective& objective, const Recipe& recipe,
                    const EvaluationOptions& options = {});

// A moving average of losses after one more, the `count`th, from the average before it. The average is corrected for
// its beginning as Adam's are: the first losses count no more than their share.
double smoothed(double before, double loss, std::int64_t count);

class Trainer {
   public:
    // The model's parameters move into the trainer's buffers; both stay alive as long as the trainer.
    Trainer(models::Model& model, const Objective& objective, const Recipe& recipe, Device device = cpu);
    ~Trainer();

    // Throws, naming the step and its examples, where the loss is no number or leaps.
    StepReport step();
    std::int64_t steps() const { return step_; }
    std::int64_t all_steps() const { return recipe_.steps; }
    double epochs_after(std::int64_t steps) const;
    bool finished() const { return step_ >= recipe_.steps; }

    // Over the first batches of another set.
    Evaluation evaluate(const Objective& validation) const;

    // What a checkpoint must hold beside the weights. Copying into the tensors restores the optimizer; restore_step the
    // rest.
    void visit_state(const Optimizer::StateVisitor& visit) const;
    double smoothed_loss() const { return smoothed_loss_; }
    void restore(std::int64_t step, double smoothed_loss);

    bool keeps_average() const { return recipe_.ema > 0; }
    // Runs body while the model has the moving average of its weights.
    void with_average(const std::function<void()>& body) const;

    const char* unit() const { return objective_.unit(); }  // what a step is made of
    std::int64_t trained_parameters() const { return groups_.elements(); }

   private:
    TrainingBatch make_batch(std::int64_t number) const;
    TrainingBatch next_batch(std::int64_t number);
    // Adds the gradients of a batch that counts for this share of the step.
    void learn_from(TrainingBatch batch, std::int64_t number, double share, StepReport& report);
    nn::Context context_for(const TrainingBatch& batch, std::int64_t number) const;
    void check_loss(double loss, const std::string& origin) const;
    double current_learning_rate() const;
    std::int64_t step_of_phase() const { return step_ - phase_begin(phase()); }
    std::int64_t phase() const;  // −1 where there are none
    std::int64_t phase_begin(std::int64_t phase) const;
    void update_average() const;

    models::Model& model_;
    const Objective& objective_;
    const Recipe& recipe_;
    Device device_;
    std::int64_t phases_;
    ParameterGroups groups_;
    std::vector<Tensor> averages_;
    std::future<TrainingBatch> ahead_;  // the next batch, made while this one is learned from
    std::int64_t ahead_number_ = -1;
    std::int64_t step_ = 0;
    double smoothed_loss_ = 0;
};

// How many labels the loss of a batch is the mean of; its units where it has no labels.
std::int64_t targets_of(const TrainingBatch& batch);

}  // namespace tessera::training
