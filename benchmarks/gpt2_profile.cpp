// Where a GPT-2 training step goes, kernel by kernel.
#include <fmt/core.h>

#include <algorithm>

#include "benchmarks/gpt2_step.h"
#include "benchmarks/kernel_profile.h"
#include "benchmarks/support.h"
#include "tessera/kernels/attention.h"
#include "tessera/kernels/binary.h"
#include "tessera/kernels/cross_entropy.h"
#include "tessera/kernels/gather.h"
#include "tessera/kernels/gemm.h"
#include "tessera/kernels/memory.h"
#include "tessera/kernels/norm.h"
#include "tessera/kernels/optimizer.h"
#include "tessera/kernels/reduce.h"
#include "tessera/kernels/unary.h"

namespace tessera::benchmarks {
namespace {

using Clocks =
    KernelProfile<kernels::gemm, kernels::attention, kernels::attention_backward, kernels::layer_norm,
                  kernels::layer_norm_backward, kernels::gelu_tanh, kernels::gelu_tanh_backward, kernels::cross_entropy,
                  kernels::cross_entropy_backward, kernels::embedding, kernels::embedding_backward, kernels::add,
                  kernels::mul, kernels::sum, kernels::accumulate, kernels::copy, kernels::fill, kernels::adamw>;

struct Profile {
    Gpt2Step::Parts parts;
    double seconds = 0;
    std::vector<KernelTime> times;
};

Profile one_step(Gpt2Step& step) {
    Profile profile;
    const Clocks clocks;
    profile.seconds = seconds_once([&] { profile.parts = step.run(); });
    profile.times = clocks.times();
    return profile;
}

std::string table(Profile profile) {
    auto& times = profile.times;
    std::sort(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
    std::string text = fmt::format(
        "GPT-2 step by kernel: {:.0f} ms (forward {:.0f}, backward {:.0f}, optimizer {:.0f}; loss {:.2f})\n",
        1e3 * profile.seconds, 1e3 * profile.parts.forward, 1e3 * profile.parts.backward, 1e3 * profile.parts.optimizer,
        profile.parts.loss);
    const auto line = [&](const char* name, int calls, double seconds) {
        text += fmt::format("  {:<24} {:>4} calls {:>8.1f} ms  {:>5.1f} %\n", name, calls, 1e3 * seconds,
                            100 * seconds / profile.seconds);
    };
    double rest = profile.seconds;
    for (const KernelTime& each : times) {
        rest -= each.seconds;
        if (each.calls > 0) line(each.name, each.calls, each.seconds);
    }
    line("between kernels", 0, rest);
    text.pop_back();
    return text;
}

void run() {
    progress("profile: a GPT-2 step");
    Gpt2Step step;
    step.run();
    Profile fastest = one_step(step);
    for (int i = 1; i < (is_quick() ? 2 : 5); ++i)
        if (Profile next = one_step(step); next.seconds < fastest.seconds) fastest = std::move(next);
    note(table(std::move(fastest)));
}

const RegisterBenchmark registered({"profile", "where a GPT-2 training step goes, by kernel", run, 6});

}  // namespace
}  // namespace tessera::benchmarks
