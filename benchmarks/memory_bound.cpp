// Ops that do little with each number: their limit is the rate at which memory can be copied, by memcpy and by a loop
// that streams its writes past the caches. Operands of 256 MiB, far past every cache; each byte that must be read or
// written counts once.
#include "benchmarks/copies.h"
#include "benchmarks/support.h"
#include "tessera/kernels/optimizer.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/gated.h"
#include "tessera/ops/norm.h"
#include "tessera/ops/softmax.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::benchmarks {
namespace {

constexpr std::int64_t operand = std::int64_t{256} << 20;  // bytes
constexpr double goal = 0.8;

// `passes`: how many operands' worth of memory the work must read and write.
void measure(const std::string& name, int passes, const std::function<void()>& work) {
    progress(name);
    const Tensor from = random_tensor({operand / 4}), to = from.clone();
    std::vector<Side> sides{{"ours", work}};
    for (Side& copy : copy_sides(from, to)) sides.push_back(std::move(copy));
    const std::vector<double> seconds = race(sides, {.least_rounds = 11});
    const double rate = passes * static_cast<double>(operand) / seconds[0];
    for (std::size_t i = 1; i < sides.size(); ++i) {
        const double copy_rate = 2.0 * static_cast<double>(operand) / seconds[i];
        report({.name = name,
                .ours = rate / 1e9,
                .unit = "GB/s",
                .against = sides[i].name,
                .reference = copy_rate / 1e9,
                .ratio = rate / copy_rate,
                .sense = Goal::AtLeast,
                .goal = goal});
    }
}

void measure_adamw() {
    const Shape shape{operand / 4};
    const Tensor values = random_tensor(shape), gradients = random_tensor(shape, DType::F32, 2);
    const Tensor first = Tensor::zeros(shape), second = Tensor::zeros(shape);
    const kernels::AdamWStep step{.learning_rate = 1e-4, .weight_decay = 0.1};
    const kernels::AdamWBuffers buffers{.values = values.view(),
                                        .gradients = gradients.view(),
                                        .first_moment = first.view(),
                                        .second_moment = second.view(),
                                        .rounded = {}};
    measure("adamw", 7, [&] { kernels::adamw.on(cpu)(step, buffers); });
}

void run() {
    constexpr std::int64_t width = 4096;
    const Tensor x = random_tensor({operand / 4 / width, width}), y = random_tensor(x.shape(), DType::F32, 2);
    const Tensor weight = random_tensor({width});
    const NoGrad no_grad;
    measure("add", 3, [&] { ops::add(x, y); });
    measure("rms_norm", 2, [&] { ops::rms_norm(x, weight); });
    for (const std::int64_t narrow : {1024, 2048}) {
        const Tensor rows = ops::reshape(x, {-1, narrow}), own = random_tensor({narrow});
        measure("rms_norm, width " + std::to_string(narrow), 2, [&] { ops::rms_norm(rows, own); });
    }
    measure("layer_norm", 2, [&] { ops::layer_norm(x, weight, weight); });
    measure("softmax", 2, [&] { ops::softmax(x); });
    measure("swiglu", 3, [&] { ops::swiglu(x, y); });
    measure_adamw();
}

const RegisterBenchmark registered({"memory", "memory-bound ops against the rate of a copy", run, 3});

}  // namespace
}  // namespace tessera::benchmarks
