// A training step of GPT-2 with 124 million parameters in f32, ours and PyTorch's in turn.
#include <fmt/core.h>

#include <filesystem>

#include "benchmarks/gpt2_step.h"
#include "benchmarks/limits.h"
#include "benchmarks/machine.h"
#include "benchmarks/peer_process.h"
#include "benchmarks/support.h"
#include "core/parallel.h"

namespace tessera::benchmarks {
namespace {

constexpr double goal = 1.4;

std::vector<std::string> torch_command(const Gpt2Sizes& sizes) {
    const auto script = std::filesystem::path(results_folder()).parent_path() / "peers" / "gpt2_torch.py";
    // Debian's interpreter, which sees Debian's PyTorch; another first in the path would not.
    return {"/usr/bin/python3",
            "-W",
            "ignore",
            script.string(),
            "--interactive",
            "--batch",
            std::to_string(sizes.batch),
            "--length",
            std::to_string(sizes.length),
            "--threads",
            std::to_string(thread_count())};
}

// PyTorch at its best: OpenBLAS told of AVX-512, and memory kept and on huge pages, as our allocator does it, instead
// of being returned to the system and faulted in again at every step.
std::vector<std::string> torch_environment() {
    std::vector<std::string> environment{
        "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=17179869184:"
        "glibc.malloc.top_pad=268435456:glibc.malloc.hugetlb=1",
        fmt::format("OMP_NUM_THREADS={}", thread_count())};
    if (machine().has_avx512) environment.push_back("OPENBLAS_CORETYPE=SkylakeX");
    return environment;
}

void run() {
    const Gpt2Sizes sizes;
    progress("gpt2: preparing");
    Gpt2Step step(sizes);
    PeerProcess torch(torch_command(sizes), torch_environment());
    torch.read_line();  // ready
    progress("gpt2: training steps, ours and PyTorch's in turn");
    const Yardstick& yardstick = gemm_yardstick();
    const std::vector<double> seconds = race(
        {{"ours", [&] { step.run(); }}, {"PyTorch", [&] { torch.ask("step"); }}, yardstick.side}, {.least_rounds = 7});
    const auto tokens = static_cast<double>(sizes.batch * sizes.length);
    report({.name = "GPT-2 124M training step, f32, 4 × 256 tokens",
            .ours = tokens / seconds[0],
            .unit = "tokens/s",
            .against = "PyTorch 1.13",
            .reference = tokens / seconds[1],
            .ratio = seconds[1] / seconds[0],
            .sense = Goal::at_least,
            .goal = goal});
    const double rate = sizes.operations() / seconds[0], limit = yardstick.operations / seconds[2];
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
