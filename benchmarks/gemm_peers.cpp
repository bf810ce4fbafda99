#include "benchmarks/gemm_peers.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "benchmarks/machine.h"
#include "tessera/core/error.h"
#include "tessera/core/parallel.h"

namespace tessera::benchmarks {
namespace {

using dnnl::memory;

std::function<void()> dnnl_sgemm_product(const Product& p) {
    return [p] {
        const auto status = dnnl_sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.rows, p.columns, p.inner,
                                       1.0f, p.a, p.transpose_a ? p.rows : p.inner, p.b,
                                       p.transpose_b ? p.inner : p.columns, 0.0f, p.c, p.columns);
        check(status == dnnl_success, "dnnl_sgemm failed with status ", static_cast<int>(status));
    };
}

memory::desc matrix(std::int64_t rows, std::int64_t columns, memory::data_type type, bool transposed) {
    const memory::dims strides = transposed ? memory::dims{1, rows} : memory::dims{columns, 1};
    return {{rows, columns}, type, strides};
}

struct Operands {
    const void *a, *b;
    void* c;
};

std::function<void()> compiled_product(const memory::desc& a, const memory::desc& b, const memory::desc& c,
                                       const Operands& operands) {
    static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    static dnnl::stream stream(engine);
    const dnnl::matmul product(dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), engine));
    const std::unordered_map<int, memory> arguments{
        {DNNL_ARG_SRC, memory(a, engine, const_cast<void*>(operands.a))},
        {DNNL_ARG_WEIGHTS, memory(b, engine, const_cast<void*>(operands.b))},
        {DNNL_ARG_DST, memory(c, engine, operands.c)}};
    return [product, arguments] {
        product.execute(stream, arguments);
        stream.wait();
    };
}

std::function<void()> dnnl_matmul_product(const Product& p) {
    constexpr auto f32 = memory::data_type::f32;
    return compiled_product(matrix(p.rows, p.inner, f32, p.transpose_a), matrix(p.inner, p.columns, f32, p.transpose_b),
                            matrix(p.rows, p.columns, f32, false), {p.a, p.b, p.c});
}

// The C interface of every BLAS; 101 is row-major, 111 and 112 are plain and transposed.
using CblasSgemm = void (*)(int order, int transpose_a, int transpose_b, int rows, int columns, int inner, float alpha,
                            const float* a, int a_stride, const float* b, int b_stride, float beta, float* c,
                            int c_stride);

CblasSgemm load_openblas() {
    // OpenBLAS takes an AVX-512 processor that it does not know for an AVX2 one and runs at half the rate.
    if (machine().has_avx512) setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
    void* library = nullptr;
    for (const char* name : {"libopenblas.so.0", "libopenblas.so"})
        if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return nullptr;
    if (auto* set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads")))
        set_threads(thread_count());
    return reinterpret_cast<CblasSgemm>(dlsym(library, "cblas_sgemm"));
}

std::function<void()> openblas_product(CblasSgemm sgemm, const Product& p) {
    return [sgemm, p] {
        const auto narrow = [](std::int64_t size) { return static_cast<int>(size); };
        sgemm(101, p.transpose_a ? 112 : 111, p.transpose_b ? 112 : 111, narrow(p.rows), narrow(p.columns),
              narrow(p.inner), 1.0f, p.a, narrow(p.transpose_a ? p.rows : p.inner), p.b,
              narrow(p.transpose_b ? p.inner : p.columns), 0.0f, p.c, narrow(p.columns));
    };
}

std::vector<GemmPeer> find_peers() {
    std::vector<GemmPeer> peers{{"dnnl_sgemm", dnnl_sgemm_product}, {"dnnl::matmul", dnnl_matmul_product}};
    if (const CblasSgemm sgemm = load_openblas())
        peers.push_back({"OpenBLAS", [sgemm](const Product& p) { return openblas_product(sgemm, p); }});
    return peers;
}

}  // namespace

const std::vector<GemmPeer>& gemm_peers() {
    static const std::vector<GemmPeer> peers = find_peers();
    return peers;
}

std::function<void()> bf16_product(std::int64_t rows, std::int64_t inner, std::int64_t columns, const void* a,
                                   const void* b, void* c) {
    constexpr auto bf16 = memory::data_type::bf16;
    return compiled_product(matrix(rows, inner, bf16, false), matrix(inner, columns, bf16, false),
                            matrix(rows, columns, bf16, false), {a, b, c});
}

}  // namespace tessera::benchmarks
