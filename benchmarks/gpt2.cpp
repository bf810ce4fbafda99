// A training step of GPT-2 with 124 million parameters in f32, ours and PyTorch's in turn.
#include "benchmarks/gpt2_step.h"
#include "benchmarks/limits.h"
#include "benchmarks/peer_process.h"
#include "benchmarks/support.h"
#include "benchmarks/torch_peer.h"

namespace tessera::benchmarks {
namespace {

constexpr double goal = 1.4;

void run() {
    progress("gpt2: preparing");
    Gpt2Step step;
    PeerProcess torch(torch_command("gpt2_torch.py", {"--interactive", "--batch", std::to_string(Gpt2Step::batch),
                                                      "--length", std::to_string(Gpt2Step::length)}),
                      torch_environment());
    torch.read_line();  // ready
    progress("gpt2: training steps, ours and PyTorch's in turn");
    const Yardstick& yardstick = gemm_yardstick();
    const std::vector<double> seconds = race(
        {{"ours", [&] { step.run(); }}, {"PyTorch", [&] { torch.ask("step"); }}, yardstick.side}, {.least_rounds = 7});
    const auto tokens = static_cast<double>(Gpt2Step::batch * Gpt2Step::length);
    report({.name = "GPT-2 124M training step, f32, 4 × 256 tokens",
            .ours = tokens / seconds[0],
            .unit = "tokens/s",
            .against = "PyTorch 1.13",
            .reference = tokens / seconds[1],
            .ratio = seconds[1] / seconds[0],
            .sense = Goal::AtLeast,
            .goal = goal});
    const double rate = step.operations() / seconds[0], limit = yardstick.operations / seconds[2];
    report({.name = "GPT-2 124M training step, its products",
            .ours = rate / 1e9,
            .unit = "GFLOP/s",
            .against = "matrix product",
            .reference = limit / 1e9,
            .ratio = rate / limit});
}

const RegisterBenchmark registered({"gpt2", "a GPT-2 training step against PyTorch", run, 5});

}  // namespace
}  // namespace tessera::benchmarks
