// The plain blocked product in f64. Blocks of B are packed so that the innermost loop runs over consecutive columns
// whatever the strides; each result is summed over the inner dimension in order.
#include <algorithm>

#include "tessera/core/parallel.h"
#include "tessera/kernels/cpu/gemm_piece.h"

namespace tessera::kernels::cpu {
namespace {

constexpr std::int64_t inner_block = 64, column_block = 128;

void run_rows(const PlainGemm& p, std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t width) {
    double packed[inner_block * column_block];
    for (std::int64_t i = begin; i < end; ++i)
        for (std::int64_t j = 0; j < width; ++j) {
            double& c = p.c[i * p.c_strides[0] + (first + j) * p.c_strides[1]];
            c = (p.beta == 0 ? 0 : p.beta * c) + (p.bias ? p.bias[(first + j) * p.bias_stride] : 0);
        }
    for (std::int64_t k0 = 0; k0 < p.shape.inner; k0 += inner_block) {
        const std::int64_t depth = std::min(inner_block, p.shape.inner - k0);
        for (std::int64_t k = 0; k < depth; ++k)
            for (std::int64_t j = 0; j < width; ++j)
                packed[k * width + j] = p.b[(k0 + k) * p.b_strides[0] + (first + j) * p.b_strides[1]];
        for (std::int64_t i = begin; i < end; ++i) {
            double sums[column_block] = {};
            for (std::int64_t k = 0; k < depth; ++k) {
                const double factor = p.a[i * p.a_strides[0] + (k0 + k) * p.a_strides[1]];
                for (std::int64_t j = 0; j < width; ++j) sums[j] += factor * packed[k * width + j];
            }
            for (std::int64_t j = 0; j < width; ++j)
                p.c[i * p.c_strides[0] + (first + j) * p.c_strides[1]] += p.alpha * sums[j];
        }
    }
}

}  // namespace

void gemm_f64(const PlainGemm& p) {
    const std::int64_t row_work = std::max<std::int64_t>(1, p.shape.columns * p.shape.inner);
    parallel_for(p.shape.rows, std::max<std::int64_t>(4, 65536 / row_work), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t first = 0; first < p.shape.columns; first += column_block)
            run_rows(p, begin, end, first, std::min(column_block, p.shape.columns - first));
    });
}

}  // namespace tessera::kernels::cpu
