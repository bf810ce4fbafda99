// The libraries' matrix products, bare: what `linear` and `matmul` are measured against.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::benchmarks {

// c (rows × columns) = op(a) · op(b), all row-major and dense in f32; op(a) is rows × inner, op(b) inner × columns.
struct Product {
    std::int64_t rows = 0, inner = 0, columns = 0;
    bool transpose_a = false, transpose_b = false;
    const float* a = nullptr;
    const float* b = nullptr;
    float* c = nullptr;

    double operations() const {
        return 2.0 * static_cast<double>(rows) * static_cast<double>(inner) * static_cast<double>(columns);
    }
};

struct GemmPeer {
    std::string name;
    // Does what can be done before the operands are there (oneDNN compiles a kernel), and returns the rest.
    std::function<std::function<void()>(const Product&)> prepare;
};

// dnnl_sgemm, dnnl::matmul and, where OpenBLAS is installed, cblas_sgemm.
const std::vector<GemmPeer>& gemm_peers();

// bf16 × bf16 → bf16 through dnnl::matmul; bits of bf16 behind the pointers.
std::function<void()> bf16_product(std::int64_t rows, std::int64_t inner, std::int64_t columns, const void* a,
                                   const void* b, void* c);

}  // namespace tessera::benchmarks
