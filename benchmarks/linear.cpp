// `linear` at the shapes of GPT-2 and of a small Llama, forward and backward through the tape, against the fastest bare
// matrix product of the same sizes.
#include "tessera/ops/linear.h"

#include <fmt/core.h>

#include "benchmarks/gemm_peers.h"
#include "benchmarks/support.h"
#include "tessera/tensor/tape.h"

namespace tessera::benchmarks {
namespace {

constexpr double goal = 0.95;

struct Sizes {
    std::int64_t rows, in, out;
};

void report_race(const std::string& name, const std::vector<Side>& sides, double operations, const Sizes& sizes) {
    const std::string full = fmt::format("linear {} {}×{}×{}", name, sizes.rows, sizes.in, sizes.out);
    progress(full);
    const std::vector<double> seconds = race(sides, {.seconds = 4});
    const std::size_t best = fastest(seconds, 1);
    report({.name = full,
            .ours = operations / seconds[0] / 1e9,
            .unit = "GFLOP/s",
            .against = sides[best].name,
            .reference = operations / seconds[best] / 1e9,
            .ratio = seconds[best] / seconds[0],
            .sense = Goal::AtLeast,
            .goal = goal});
}

void measure_forward(const Sizes& sizes) {
    const Tensor x = random_tensor({sizes.rows, sizes.in}), weight = random_tensor({sizes.out, sizes.in});
    const Tensor out = Tensor::empty({sizes.rows, sizes.out});
    const Product product{.rows = sizes.rows,
                          .inner = sizes.in,
                          .columns = sizes.out,
                          .transpose_b = true,
                          .a = x.data<float>(),
                          .b = weight.data<float>(),
                          .c = out.data<float>()};
    std::vector<Side> sides{{"ours", [&] { ops::linear(x, weight); }}};
    for (const GemmPeer& peer : gemm_peers()) sides.push_back({peer.name, peer.prepare(product)});
    report_race("forward", sides, product.operations(), sizes);
}

// Two products: the gradients of x (rows × in) and of the weight (out × in).
void measure_backward(const Sizes& sizes) {
    Tensor x = random_tensor({sizes.rows, sizes.in}), weight = random_tensor({sizes.out, sizes.in});
    x.set_requires_grad();
    weight.set_requires_grad();
    const Tensor gradient = random_tensor({sizes.rows, sizes.out});
    Tensor out;
    const auto forward = [&] {
        x.set_grad({});
        weight.set_grad({});
        out = ops::linear(x, weight);
    };
    std::vector<Side> sides{{"ours", [&] { backward({out}, {gradient}); }, forward}};

    const Tensor x_gradient = x.empty_like(), weight_gradient = weight.empty_like();
    const Product for_x{.rows = sizes.rows,
                        .inner = sizes.out,
                        .columns = sizes.in,
                        .a = gradient.data<float>(),
                        .b = weight.data<float>(),
                        .c = x_gradient.data<float>()};
    const Product for_weight{.rows = sizes.out,
                             .inner = sizes.rows,
                             .columns = sizes.in,
                             .transpose_a = true,
                             .a = gradient.data<float>(),
                             .b = x.data<float>(),
                             .c = weight_gradient.data<float>()};
    for (const GemmPeer& peer : gemm_peers())
        sides.push_back({peer.name, [first = peer.prepare(for_x), second = peer.prepare(for_weight)] {
                             first();
                             second();
                         }});
    report_race("backward", sides, for_x.operations() + for_weight.operations(), sizes);
}

void run() {
    constexpr Sizes all[] = {{512, 768, 3072},   {512, 3072, 768},   {1024, 768, 2304},
                             {1024, 2048, 5632}, {1024, 5632, 2048}, {1024, 768, 50257}};
    for (const Sizes& sizes : all) {
        measure_forward(sizes);
        measure_backward(sizes);
    }
}

const RegisterBenchmark registered({"linear", "linear layers, forward and backward, against the fastest BLAS", run, 1});

}  // namespace
}  // namespace tessera::benchmarks
