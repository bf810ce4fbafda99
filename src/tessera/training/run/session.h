// A whole training run: from a recipe to a folder that can be run at once.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "tessera/models/opened_model.h"
#include "tessera/training/objectives/objective.h"
#include "tessera/training/recipe/resumed_recipe.h"
#include "tessera/training/run/trainer.h"

namespace tessera::training {

// What happens, as it happens. Each may be empty.
struct SessionEvents {
    std::function<void(const std::string& what, double done, double total)> on_preparation = {};
    // The checkpoint knew other classes, or none: it has a new head for these.
    std::function<void(const std::vector<std::string>& classes)> on_new_head = {};
    // The run was asked to go on: from this step, 0 where there is no checkpoint yet, with these settings changed.
    std::function<void(std::int64_t step, const std::vector<ChangedSetting>& changes)> on_resume = {};
    std::function<void(const models::Model& model, const Trainer& trainer)> on_start = {};
    std::function<void(const StepReport& report, const char* unit)> on_step = {};
    std::function<void(std::int64_t step, const Evaluation& result)> on_validation = {};
    std::function<void(const models::OpenedModel& model, std::int64_t step)> on_sample = {};
};

struct SessionOptions {
    std::filesystem::path folder;
    bool resume = false;     // from the newest checkpoint, where there is one
    bool overwrite = false;  // an earlier run or model gives way when this one is whole; otherwise it is refused
    Device device = cpu;
    std::filesystem::path recipe_file = {};  // must not be a file that the run writes
};

struct SessionResult {
    std::int64_t steps = 0;
    std::int64_t all_steps = 0;   // that it was to take
    double loss = 0;              // the mean of the last `loss_steps` steps; of counted tables, on the training texts
    std::int64_t loss_steps = 0;  // 0: of counted tables
    double validation_loss = 0;   // of the evaluation at the end; not a number where none was taken
    Accuracy answers = {};        // of the same
    int stopped_by = 0;           // the signal that asked to stop (core/interruption.h); 0: the run is over
    std::filesystem::path checkpoint = {};  // of a run that was stopped
};

// A wish to stop ends the run with a checkpoint, and before the first step with Stopped.
SessionResult run_session(const Recipe& recipe, const SessionOptions& options, const SessionEvents& events = {});

}  // namespace tessera::training
