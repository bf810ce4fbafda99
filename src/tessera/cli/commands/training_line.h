// The line that a training run shows of a step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::cli {

// The fields on one line of at most so many columns. Those in the middle give way, from the right: the first two (step
// and loss) and the last (the time left) stay.
std::string fitted_line(std::vector<std::string> fields, std::size_t columns);

// Where standard output is no terminal: whether a step is shown, so many seconds after the last one that was.
struct ShownSteps {
    std::int64_t first = 1, all = 1;
    bool shows(std::int64_t step, double seconds_since_last) const;
};

}  // namespace tessera::cli
