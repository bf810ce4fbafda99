// The op harness's last mode: how long every one of its cases takes in f32, forward alone and with backward. Most cases
// are small, so this shows what a call costs; the other benchmarks show what large operands cost.
#include <fmt/core.h>

#include "benchmarks/support.h"
#include "support/op_case.h"
#include "tessera/tensor/tape.h"

namespace tessera::benchmarks {
namespace {

struct Cost {
    double forward, with_backward;  // seconds
};

Cost cost_of(const testing::OpCase& op_case) {
    constexpr RaceOptions brief{.seconds = 0.01, .least_rounds = 5};
    testing::Tensors inputs = testing::make_inputs(op_case, DType::F32);
    Cost cost{};
    {
        const NoGrad no_grad;
        cost.forward = seconds_of([&] { op_case.op(inputs); }, brief);
    }
    if (!op_case.gradient) return cost;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (testing::takes_gradient(op_case, i, inputs[i])) inputs[i].set_requires_grad();
    const Gradients weights = testing::output_weights(op_case.op(inputs));
    cost.with_backward = seconds_of([&] { backward(op_case.op(inputs), weights); }, brief);
    return cost;
}

void run() {
    std::string table = fmt::format("{:<44} {:>12} {:>16}\n", "case (f32)", "forward µs", "with backward µs");
    for (const testing::OpCase& op_case : testing::all_cases()) {
        if (!op_case.f32) continue;
        progress(op_case.name);
        const Cost cost = cost_of(op_case);
        table += fmt::format("{:<44} {:>12.1f} ", op_case.name, cost.forward * 1e6);
        table += op_case.gradient ? fmt::format("{:>16.1f}\n", cost.with_backward * 1e6) : fmt::format("{:>16}\n", "-");
    }
    note(table);
}

const RegisterBenchmark registered({"ops", "every case of the op harness: what one call costs", run, 9});

}  // namespace
}  // namespace tessera::benchmarks
