// A sliding window by a masked matrix, by a loop, by chunks, and by the fused op: time and memory over the length.
#include <fmt/core.h>

#include <array>

#include "benchmarks/support.h"
#include "ops/window_ways_reference.h"
#include "tessera/core/memory.h"
#include "tessera/ops/attention.h"
#include "tessera/plots/line_chart.h"
#include "tessera/tensor/tape.h"

namespace tessera::benchmarks {
namespace {

constexpr std::int64_t window = 256, heads = 4, width = 64;
constexpr std::int64_t lengths[] = {256, 512, 1024, 2048, 4096, 8192, 16384};
constexpr std::int64_t longest_matrix = 4096;  // beyond it a matrix of all scores takes gigabytes
constexpr double time_goal = 2;                // the fused op against the best of the others

Tensor fused(const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t keys) {
    return ops::attention(query, key, value, {.mask = ops::AttentionMask::sliding(keys)});
}

struct Way {
    const char* name;
    Tensor (*run)(const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t window);
    bool is_fused = false;  // which takes (B, T, H, D), the others (H, T, D)
    std::int64_t longest = 1 << 30;
};

constexpr std::array<Way, 4> ways{{{"full matrix, masked", testing::window_by_mask, false, longest_matrix},
                                   {"loop over queries", testing::window_by_loop},
                                   {"sliding chunks", testing::window_by_chunks},
                                   {"fused op", fused, true}}};

// Values and gradients are not compared here: tests/ops/window_ways_test.cpp does.
Side side_of(const Way& way, std::int64_t length) {
    std::vector<Tensor> inputs;
    const Shape shape = way.is_fused ? Shape{1, length, heads, width} : Shape{heads, length, width};
    for (std::uint64_t seed = 1; seed <= 3; ++seed) inputs.push_back(random_tensor(shape, DType::F32, seed));
    return {way.name, [&way, inputs] { way.run(inputs[0], inputs[1], inputs[2], window); }};
}

double peak_bytes_of(const Side& side) {
    const std::int64_t before = memory_stats(cpu).bytes_in_use;
    reset_peak(cpu);
    side.work();
    return static_cast<double>(memory_stats(cpu).peak_bytes - before);
}

// Each way's milliseconds and mebibytes at one length join the charts.
void measure(std::int64_t length, plots::LineChart& time, plots::LineChart& memory) {
    std::vector<Side> sides;
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < ways.size(); ++i)
        if (length <= ways[i].longest) {
            sides.push_back(side_of(ways[i], length));
            which.push_back(i);
        }
    const std::vector<double> seconds = race(sides, {.seconds = 2, .least_rounds = 5});
    const auto at = static_cast<double>(length);
    for (std::size_t i = 0; i < sides.size(); ++i) {
        const double bytes = peak_bytes_of(sides[i]);
        time.lines[which[i]].points.push_back({at, seconds[i] * 1e3});
        memory.lines[which[i]].points.push_back({at, bytes / 0x1p20});
        report({.name = fmt::format("{}, memory T={}", sides[i].name, length), .ours = bytes / 0x1p20, .unit = "MiB"});
        if (i + 1 < sides.size())
            report({.name = fmt::format("{} T={}", sides[i].name, length), .ours = seconds[i] * 1e3, .unit = "ms"});
    }
    const std::vector<double> plain(seconds.begin(), seconds.end() - 1);
    const std::size_t best = fastest(plain);
    report({.name = fmt::format("fused op T={}", length),
            .ours = seconds.back() * 1e3,
            .unit = "ms",
            .against = sides[best].name,
            .reference = plain[best] * 1e3,
            .ratio = plain[best] / seconds.back(),
            .sense = Goal::AtLeast,
            .goal = time_goal});
}

void run() {
    const NoGrad no_grad;
    const std::string what = fmt::format("A window of {} keys, {} heads of {}: ", window, heads, width);
    plots::LineChart time{what + "time", "tokens", "milliseconds", {}, true},
        memory{what + "memory", "tokens", "MiB", {}, true};
    for (const Way& way : ways)
        for (auto* chart : {&time, &memory}) chart->lines.push_back({way.name, {}});
    for (const std::int64_t length : lengths) {
        if (is_quick() && length > 2048) break;
        progress(fmt::format("window_ways T={}", length));
        measure(length, time, memory);
    }
    attach("window-time.svg", svg_of(time));
    attach("window-memory.svg", svg_of(memory));
}

const RegisterBenchmark registered({"window_ways", "a sliding window in three plain ways and fused, over the length",
                                    run, 8});

}  // namespace
}  // namespace tessera::benchmarks
