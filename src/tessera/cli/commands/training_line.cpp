#include "tessera/cli/commands/training_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tessera::cli {

std::string fitted_line(std::vector<std::string> fields, std::size_t columns) {
    std::erase(fields, "");
    constexpr std::size_t kept = 3;
    std::string line = fmt::format("{}", fmt::join(fields, "  "));
    while (line.size() > columns && fields.size() > kept) {
        fields.erase(fields.end() - 2);
        line = fmt::format("{}", fmt::join(fields, "  "));
    }
    return line.substr(0, columns);
}

bool ShownSteps::shows(std::int64_t step, double seconds_since_last) const {
    constexpr double longest_silence = 10;
    return step == first || step == all || step % std::max<std::int64_t>(1, all / 20) == 0 ||
           seconds_since_last >= longest_silence;
}

}  // namespace tessera::cli
