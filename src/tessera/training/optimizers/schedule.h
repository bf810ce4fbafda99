// Learning rates as pure functions of the step (from 0), so that a resumed run continues where it stopped. All warm up
// linearly, peak·(step + 1) / warmup_steps, reach the peak at step warmup_steps − 1, and then follow their kind.
#pragma once

#include <cstdint>

namespace tessera::training {

enum class ScheduleKind : std::uint8_t {
    Constant,           // stays at the peak
    Cosine,             // half a cosine from the peak at step warmup_steps to the floor at total_steps
    Linear,             // a line between the same two points
    InverseSquareRoot,  // peak·√(warmup_steps / (step + 1)), as in Vaswani et al. 2017
};

struct Schedule {
    ScheduleKind kind = ScheduleKind::Constant;
    double peak = 0;
    std::int64_t warmup_steps = 0;
    std::int64_t total_steps = 0;  // for cosine and linear; the floor holds from there on
    double floor_fraction = 0;     // of the peak, for cosine and linear
};

double learning_rate(const Schedule& schedule, std::int64_t step);

}  // namespace tessera::training
