// metrics.jsonl: one JSON object a line for each step and each evaluation, appended as they come, and for settings that
// changed when the run was resumed. `seconds` count from where the run began or was resumed.
#pragma once

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <vector>

#include "tessera/plots/loss_plot.h"
#include "tessera/training/recipe/resumed_recipe.h"
#include "tessera/training/run/trainer.h"

namespace tessera::training {

using plots::LossPoint;

// The mean over the last 50 steps, or over all where there are fewer. It follows from metrics.jsonl alone, so that a
// resumed run reports what an uninterrupted one would.
struct RecentLoss {
    static constexpr std::int64_t most_steps = 50;

    double mean = std::numeric_limits<double>::quiet_NaN();
    std::int64_t steps = 0;
};
RecentLoss recent_loss(const std::vector<LossPoint>& losses);

class Metrics {
   public:
    // Goes on after step `first_step`: lines of later steps, which a run left that did not live to save them, go.
    Metrics(const std::filesystem::path& file, std::int64_t first_step);

    void add(const StepReport& report, double units_per_second);
    void add_validation(std::int64_t step, const Evaluation& result);
    void add_changes(std::int64_t step, const std::vector<ChangedSetting>& changes);

    const plots::LossHistory& history() const { return history_; }

   private:
    void write(const formats::Json& line);

    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
    plots::LossHistory history_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace tessera::training
