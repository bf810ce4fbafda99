#include "benchmarks/support.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "tessera/core/parallel.h"
#include "tessera/core/random.h"

namespace tessera::benchmarks {
namespace {

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double timed_run(const Side& side) {
    if (side.prepare) side.prepare();
    return seconds_once(side.work);
}

}  // namespace

double seconds_once(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<double> race(const std::vector<Side>& sides, const RaceOptions& options) {
    const int warm_up = is_quick() ? std::min(options.warm_up, 1) : options.warm_up;
    const int least_rounds = is_quick() ? 1 : options.least_rounds;
    const double budget = is_quick() ? 0.1 : options.seconds;
    for (int round = 0; round < warm_up; ++round)
        for (const Side& side : sides) timed_run(side);
    std::vector<std::vector<double>> times(sides.size());
    double spent = 0;
    for (int round = 0; round < least_rounds || spent < budget; ++round)
        for (std::size_t i = 0; i < sides.size(); ++i) {
            // Every other round goes backwards: nobody always runs after the same neighbour.
            const std::size_t side = round % 2 == 0 ? i : sides.size() - 1 - i;
            times[side].push_back(timed_run(sides[side]));
            spent += times[side].back();
        }
    std::vector<double> seconds;
    for (auto& side : times)
        seconds.push_back(takes_best() ? *std::min_element(side.begin(), side.end()) : median(std::move(side)));
    return seconds;
}

double seconds_of(const std::function<void()>& work, const RaceOptions& options) {
    return race({{"", work}}, options)[0];
}

std::size_t fastest(const std::vector<double>& seconds, std::size_t first) {
    const auto begin = seconds.begin() + static_cast<std::ptrdiff_t>(first);
    return static_cast<std::size_t>(std::min_element(begin, seconds.end()) - seconds.begin());
}

void progress(const std::string& what) {
    static const bool is_terminal = isatty(STDERR_FILENO) != 0;
    if (is_terminal) fmt::print(stderr, "\r\033[K{}{}", what, what.empty() ? "" : " …");
}

Tensor random_tensor(const Shape& shape, DType dtype, std::uint64_t seed) {
    const Tensor values = Tensor::empty(shape);
    auto* data = values.data<float>();
    constexpr std::int64_t grain = 1 << 16;
    parallel_for(values.elements(), grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            data[i] = 2 * uniform(random_bits({.seed = seed}, static_cast<std::uint64_t>(i))) - 1;
    });
    return dtype == DType::F32 ? values : values.to(dtype);
}

Tensor random_ids(const Shape& shape, std::int64_t count, std::uint64_t seed) {
    const Tensor ids = Tensor::empty(shape, DType::I64);
    auto* data = ids.data<std::int64_t>();
    for (std::int64_t i = 0; i < ids.elements(); ++i)
        data[i] = static_cast<std::int64_t>(random_bits({.seed = seed}, static_cast<std::uint64_t>(i))) % count;
    return ids;
}

}  // namespace tessera::benchmarks
