// Fused attention: its rate against that of a matrix product, its memory against the length, and the price of a token
// under a sliding window. Causal; of the square of scores only the half that is seen counts.
#include "tessera/ops/attention.h"

#include <fmt/core.h>

#include <algorithm>

#include "benchmarks/limits.h"
#include "benchmarks/support.h"
#include "tessera/core/memory.h"
#include "tessera/tensor/tape.h"

namespace tessera::benchmarks {
namespace {

using ops::AttentionMask;
using ops::AttentionOptions;

struct Sizes {
    std::int64_t length, heads, head_width;

    // Two products of half the square, scores and mix; backward does five.
    double forward_operations() const {
        return 2.0 * static_cast<double>(length) * static_cast<double>(length) *
               static_cast<double>(heads * head_width);
    }
};

struct Inputs {
    Tensor query, key, value;

    explicit Inputs(const Sizes& sizes) {
        const Shape shape{1, sizes.length, sizes.heads, sizes.head_width};
        query = random_tensor(shape, DType::F32, 1);
        key = random_tensor(shape, DType::F32, 2);
        value = random_tensor(shape, DType::F32, 3);
    }
    void require_gradients() {
        for (Tensor* each : {&query, &key, &value}) each->set_requires_grad();
    }
    void drop_gradients() const {
        for (const Tensor& each : {query, key, value}) each.set_grad({});
    }
    Tensor run(const AttentionMask& mask) const { return ops::attention(query, key, value, {.mask = mask}); }
};

void report_against_product(const std::string& name, const Side& side, double operations, double goal) {
    progress(name);
    const Yardstick& yardstick = gemm_yardstick();
    const std::vector<double> seconds = race({side, yardstick.side}, {.least_rounds = 9});
    const double rate = operations / seconds[0], limit = yardstick.operations / seconds[1];
    report({.name = name,
            .ours = rate / 1e9,
            .unit = "GFLOP/s",
            .against = "matrix product",
            .reference = limit / 1e9,
            .ratio = rate / limit,
            .sense = Goal::AtLeast,
            .goal = goal});
}

void measure_rates(std::int64_t head_width) {
    const Sizes sizes{.length = 2048, .heads = 12, .head_width = head_width};
    Inputs inputs(sizes);
    const std::string shape = fmt::format("T=2048 D={}", head_width);
    report_against_product("attention forward " + shape, {"ours", [&] { inputs.run(AttentionMask::causal()); }},
                           sizes.forward_operations(), 0.6);
    inputs.require_gradients();
    const Tensor gradient = random_tensor(inputs.query.shape(), DType::F32, 4);
    Tensor out;
    const auto forward = [&] {
        inputs.drop_gradients();
        out = inputs.run(AttentionMask::causal());
    };
    report_against_product("attention backward " + shape, {"ours", [&] { backward({out}, {gradient}); }, forward},
                           2.5 * sizes.forward_operations(), 0.5);
}

// Peak bytes of forward and backward together, inputs and their gradients included.
double peak_bytes_per_token(std::int64_t length) {
    reset_peak(cpu);
    const std::int64_t before = memory_stats(cpu).bytes_in_use;
    Inputs inputs({.length = length, .heads = 2, .head_width = 64});
    inputs.require_gradients();
    const Tensor out = inputs.run(AttentionMask::causal());
    backward({out}, {Tensor::full(out.shape(), 1)});
    return static_cast<double>(memory_stats(cpu).peak_bytes - before) / static_cast<double>(length);
}

void measure_memory() {
    const double shortest = peak_bytes_per_token(1024);
    for (const std::int64_t length : {2048, 4096, 8192, 16384}) {
        const std::string name = fmt::format("attention memory T={}, peak a token", length);
        progress(name);
        const double bytes = peak_bytes_per_token(length);
        report({.name = name,
                .ours = bytes / 1024,
                .unit = "KiB",
                .against = "T=1024",
                .reference = shortest / 1024,
                .ratio = bytes / shortest,
                .sense = Goal::AtMost,
                .goal = 1.1});
    }
}

void report_growth(const std::string& pass, const std::vector<std::int64_t>& lengths,
                   const std::vector<double>& seconds) {
    const auto a_token = [&](std::size_t i) { return seconds[i] / static_cast<double>(lengths[i]) * 1e6; };
    for (std::size_t i = 1; i < seconds.size(); ++i)
        report({.name = fmt::format("attention window 256 {} T={}, a token", pass, lengths[i]),
                .ours = a_token(i),
                .unit = "µs",
                .against = "T=2048",
                .reference = a_token(0),
                .ratio = a_token(i) / a_token(0),
                .sense = Goal::AtMost,
                .goal = 1.15});
}

// With a window the price of a token must not grow with the length.
void measure_window() {
    const std::vector<std::int64_t> lengths = {2048, 8192, 32768};
    constexpr RaceOptions options{.seconds = 4, .least_rounds = 7};
    std::vector<Inputs> inputs;
    std::vector<Side> forward, backward_only;
    for (const std::int64_t length : lengths)
        inputs.emplace_back(Sizes{.length = length, .heads = 12, .head_width = 64});
    for (const Inputs& each : inputs) forward.push_back({"", [&] { each.run(AttentionMask::sliding(256)); }});
    progress("attention window 256 forward");
    report_growth("forward", lengths, race(forward, options));

    std::vector<Tensor> outputs(inputs.size()), gradients(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        inputs[i].require_gradients();
        backward_only.push_back({.name = "",
                                 .work = [&, i] { backward({outputs[i]}, {gradients[i]}); },
                                 .prepare =
                                     [&, i] {
                                         outputs[i] = inputs[i].run(AttentionMask::sliding(256));
                                         if (!gradients[i].defined()) gradients[i] = random_tensor(outputs[i].shape());
                                     }});
    }
    progress("attention window 256 backward");
    report_growth("backward", lengths, race(backward_only, options));
}

void run() {
    measure_rates(64);
    measure_rates(128);
    measure_memory();
    measure_window();
}

const RegisterBenchmark registered({"attention", "attention: rate, memory against length, sliding window", run, 2});

}  // namespace
}  // namespace tessera::benchmarks
