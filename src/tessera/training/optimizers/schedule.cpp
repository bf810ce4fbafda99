#include "tessera/training/optimizers/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tessera/core/error.h"

namespace tessera::training {
namespace {

// The part of the peak that is left after warm-up.
double decay_factor(const Schedule& schedule, std::int64_t step) {
    const std::int64_t warmup = schedule.warmup_steps;
    if (schedule.kind == ScheduleKind::Constant) return 1;
    if (schedule.kind == ScheduleKind::InverseSquareRoot)
        return std::sqrt(static_cast<double>(std::max<std::int64_t>(warmup, 1)) / static_cast<double>(step + 1));
    check(schedule.total_steps > warmup, "schedule: ", schedule.total_steps, " steps leave none after a warm-up of ",
          warmup);
    const double progress =
        std::min(1.0, static_cast<double>(step - warmup) / static_cast<double>(schedule.total_steps - warmup));
    const double left =
        schedule.kind == ScheduleKind::Linear ? 1 - progress : 0.5 * (1 + std::cos(std::numbers::pi * progress));
    return schedule.floor_fraction + (1 - schedule.floor_fraction) * left;
}

}  // namespace

double learning_rate(const Schedule& schedule, std::int64_t step) {
    check(step >= 0, "schedule: step ", step, " is before the first");
    check(schedule.warmup_steps >= 0, "schedule: warm-up of ", schedule.warmup_steps, " steps");
    if (step < schedule.warmup_steps)
        return schedule.peak * static_cast<double>(step + 1) / static_cast<double>(schedule.warmup_steps);
    return schedule.peak * decay_factor(schedule, step);
}

}  // namespace tessera::training
