#include "benchmarks/ladder.h"

#include <fmt/core.h>

#include <cmath>
#include <functional>

#include "benchmarks/gemm_peers.h"
#include "benchmarks/ladder_drawing.h"
#include "benchmarks/limits.h"
#include "benchmarks/support.h"
#include "tessera/core/error.h"
#include "tessera/ops/attention.h"
#include "tessera/ops/matmul.h"
#include "tessera/ops/views.h"

namespace tessera::benchmarks {
namespace {

struct Step {
    std::string name;
    std::function<void()> work;
    std::function<void()> collect = {};  // brings the result to where the other rungs leave it; not timed

    void run() const {
        work();
        if (collect) collect();
    }
};

// Runs every rung once, holding its result against that of the last, then times it.
std::vector<Rung> climb(const std::vector<Step>& steps, const Tensor& out, double operations) {
    steps.back().run();
    const std::vector<float> expected = out.to_vector<float>();
    std::vector<Rung> rungs;
    for (const Step& step : steps) {
        progress("ladder: " + step.name);
        out.fill(0);
        step.run();
        const std::vector<float> found = out.to_vector<float>();
        for (std::size_t i = 0; i < found.size(); ++i)
            check(std::fabs(found[i] - expected[i]) <= 1e-3, "ladder: ", step.name, " computes ",
                  static_cast<double>(found[i]), " at ", i, ", not ", static_cast<double>(expected[i]));
        const double seconds = seconds_of(step.work, {.seconds = 1, .least_rounds = 3, .warm_up = 0});
        rungs.push_back({step.name, operations / seconds / 1e9});
    }
    return rungs;
}

Ladder matmul_ladder() {
    constexpr std::int64_t size = 1024;
    const Tensor a = random_tensor({size, size}), b = random_tensor({size, size}, DType::F32, 2), out = a.empty_like();
    const SquareMatmul m{size, a.data<float>(), b.data<float>(), out.data<float>()};
    const Product product{.rows = size, .inner = size, .columns = size, .a = m.a, .b = m.b, .c = m.c};
    Tensor result;
    const std::vector<Step> steps{
        {"naive loops", [&] { matmul_naive(m); }},
        {"loops reordered", [&] { matmul_reordered(m); }},
        {"cache blocks", [&] { matmul_blocked(m); }},
        {"SIMD", [&] { matmul_simd(m); }},
        {"register tiles, packed", [&] { matmul_tiled(m); }},
        {"threads", [&] { matmul_threads(m); }},
        {"oneDNN", gemm_peers().front().prepare(product)},
        {"ops::matmul", [&] { result = ops::matmul(a, b); }, [&] { out.copy_from(result); }},
    };
    return {"matrix product", fmt::format("{0} × {0} × {0}, f32; GFLOP/s, logarithmic", size),
            climb(steps, out, product.operations())};
}

Ladder attention_ladder() {
    constexpr std::int64_t heads = 4, length = 2048, width = 64;
    const Shape shape{heads, length, width};
    const Tensor query = random_tensor(shape), key = random_tensor(shape, DType::F32, 2),
                 value = random_tensor(shape, DType::F32, 3), out = query.empty_like();
    const HeadAttention h{
        heads, length, width, query.data<float>(), key.data<float>(), value.data<float>(), out.data<float>()};
    // (heads, length, width) → (1, length, heads, width)
    const auto by_token = [](const Tensor& x) {
        return ops::reshape(ops::transpose(x, 0, 1), {1, length, heads, width}).contiguous();
    };
    const Tensor q = by_token(query), k = by_token(key), v = by_token(value);
    Tensor result;
    const std::vector<Step> steps{
        {"matrix of scores", [&] { attention_matrix(h); }},
        {"online softmax", [&] { attention_online(h); }},
        {"cache blocks", [&] { attention_blocked(h); }},
        {"SIMD, register tiles", [&] { attention_simd(h); }},
        {"threads", [&] { attention_threads(h); }},
        {"ops::attention", [&] { result = ops::attention(q, k, v, {.mask = ops::AttentionMask::causal()}); },
         [&] {
             out.copy_from(ops::transpose(ops::reshape(result, {length, heads, width}), 0, 1));
         }},
    };
    const double operations = 2.0 * heads * length * length * width;  // two products of half the square
    return {"causal attention",
            fmt::format("{} heads of {}, length {}, f32; GFLOP/s, logarithmic", heads, width, length),
            climb(steps, out, operations)};
}

void run() {
    const double limit = limits().gemm_flops / 1e9;
    const std::vector<Ladder> ladders{matmul_ladder(), attention_ladder()};
    for (const Ladder& ladder : ladders)
        for (const Rung& rung : ladder.rungs)
            report({.name = fmt::format("ladder, {}: {}", ladder.title, rung.name),
                    .ours = rung.rate,
                    .unit = "GFLOP/s",
                    .against = "matrix product",
                    .reference = limit,
                    .ratio = rung.rate / limit});
    attach("ladder.svg", draw(ladders, limit, "matrix product at its best"));
}

const RegisterBenchmark registered({"ladder", "matrix product and attention, from naive loops to the library", run, 4});

}  // namespace
}  // namespace tessera::benchmarks
