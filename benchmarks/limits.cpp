#include "benchmarks/limits.h"

#include "benchmarks/copies.h"
#include "benchmarks/gemm_peers.h"
#include "benchmarks/support.h"
#include "tessera/core/error.h"

namespace tessera::benchmarks {
namespace {

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

void measure_memory(Limits& limits) {
    constexpr std::int64_t bytes = std::int64_t{256} << 20;  // far past every cache
    const Tensor from = random_tensor({bytes / 4}), to = from.clone();
    std::vector<Side> sides = copy_sides(from, to);
    sides.push_back({"read", [&] { read_in_parallel(from); }});
    progress("limits: memory");
    std::vector<double> seconds = race(sides, {.least_rounds = 15});
    limits.read_bytes = 1.0 * bytes / seconds.back();
    seconds.pop_back();
    const std::size_t best = fastest(seconds);
    limits.copy_bytes = 2.0 * bytes / seconds[best];
    limits.copy_name = sides[best].name;
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
    report({.name = "limit: copy, read and written (" + found.copy_name + ")",
            .ours = found.copy_bytes / 1e9,
            .unit = "GB/s"});
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

const Limits& limits() {
    static const Limits found = measure();
    return found;
}

}  // namespace tessera::benchmarks
