#include "benchmarks/limits.h"

#include <algorithm>
#include <cstring>

#include "benchmarks/gemm_peers.h"
#include "benchmarks/support.h"
#include "core/parallel.h"

namespace tessera::benchmarks {
namespace {

constexpr std::int64_t large = std::int64_t{256} << 20;  // bytes: far past every cache

// Operands of a square product, kept for the life of the process.
struct SquareProduct {
    static constexpr std::int64_t size = 2048;
    Tensor a = random_tensor({size, size}), b = random_tensor({size, size}, DType::F32, 2), c = a.empty_like();

    Product product() const {
        return {.rows = size,
                .inner = size,
                .columns = size,
                .a = a.data<float>(),
                .b = b.data<float>(),
                .c = c.data<float>()};
    }
};

const SquareProduct& square_product() {
    static const SquareProduct only;
    return only;
}

void measure_products(Limits& limits) {
    constexpr std::int64_t size = SquareProduct::size;
    const Product product = square_product().product();
    std::vector<Side> sides;
    for (const GemmPeer& peer : gemm_peers()) sides.push_back({peer.name, peer.prepare(product)});
    const Tensor a = square_product().a.to(DType::BF16), b = square_product().b.to(DType::BF16), c = a.empty_like();
    sides.push_back({"bf16", bf16_product(size, size, size, a.view().data, b.view().data, c.view().data)});
    progress("limits: matrix product");
    std::vector<double> seconds = race(sides, {.seconds = 4});
    limits.bf16_flops = product.operations() / seconds.back();
    seconds.pop_back();
    const std::size_t best = fastest(seconds);
    limits.gemm_flops = product.operations() / seconds[best];
    limits.gemm_library = sides[best].name;
}

// Eight sums side by side in vectors of the compiler's: more than enough to outrun memory.
float sum_of(const float* data, std::int64_t count) {
    using Lanes = float __attribute__((vector_size(32), aligned(4)));
    Lanes sums[8] = {};
    for (std::int64_t i = 0; i + 64 <= count; i += 64)
        for (int j = 0; j < 8; ++j) sums[j] += *reinterpret_cast<const Lanes*>(data + i + 8 * j);
    float total = 0;
    for (const Lanes& lanes : sums)
        for (int j = 0; j < 8; ++j) total += lanes[j];
    return total;
}

void measure_memory(Limits& limits) {
    constexpr std::int64_t floats = large / 4, grain = 1 << 20;
    const Tensor from = random_tensor({floats}), to = from.clone();
    volatile float kept = 0;
    const auto read = [&] {
        parallel_for(floats, grain, [&](std::int64_t begin, std::int64_t end) {
            kept = sum_of(from.data<float>() + begin, end - begin);
        });
    };
    progress("limits: memory");
    const std::vector<double> seconds =
        race({{"copy", [&] { copy_in_parallel(from, to); }}, {"read", read}}, {.least_rounds = 15});
    limits.copy_bytes = 2.0 * large / seconds[0];
    limits.read_bytes = 1.0 * large / seconds[1];
}

Limits measure() {
    Limits limits;
    measure_products(limits);
    measure_memory(limits);
    return limits;
}

void run() {
    const Limits& found = limits();
    report({.name = "limit: matrix product f32 (" + found.gemm_library + ")",
            .ours = found.gemm_flops / 1e9,
            .unit = "GFLOP/s"});
    report({.name = "limit: matrix product bf16", .ours = found.bf16_flops / 1e9, .unit = "GFLOP/s"});
    report({.name = "limit: copy, read + written", .ours = found.copy_bytes / 1e9, .unit = "GB/s"});
    report({.name = "limit: read", .ours = found.read_bytes / 1e9, .unit = "GB/s"});
}

const RegisterBenchmark registered({"limits", "what the machine can do: matrix product, copy and read rates", run, 0});

}  // namespace

const Yardstick& gemm_yardstick() {
    static const Yardstick only = [] {
        const Product product = square_product().product();
        for (const GemmPeer& peer : gemm_peers())
            if (peer.name == limits().gemm_library)
                return Yardstick{{peer.name, peer.prepare(product)}, product.operations()};
        fail("no library named ", limits().gemm_library);
    }();
    return only;
}

void copy_in_parallel(const Tensor& from, const Tensor& to) {
    constexpr std::int64_t line = 64, grain = (1 << 20) / line;
    const std::int64_t bytes = bytes_of(from.dtype(), from.elements());
    parallel_for((bytes + line - 1) / line, grain, [&](std::int64_t begin, std::int64_t end) {
        std::memcpy(to.view().as<char>() + begin * line, from.view().as<char>() + begin * line,
                    static_cast<std::size_t>(std::min(end * line, bytes) - begin * line));
    });
}

const Limits& limits() {
    static const Limits found = measure();
    return found;
}

}  // namespace tessera::benchmarks
