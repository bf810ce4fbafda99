#include <algorithm>

#include "benchmarks/ladder.h"
#include "tessera/core/parallel.h"
#include "tessera/tensor/tensor.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "benchmarks/ladder_matmul_simd.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "benchmarks/ladder_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::benchmarks::HWY_NAMESPACE {

// matmul_blocked, a vector of columns at a time.
void simd(const SquareMatmul& m) {
    constexpr std::int64_t block = 64;
    const Tag d;
    std::fill_n(m.c, m.size * m.size, 0.0f);
    for (std::int64_t first = 0; first < m.size; first += block)
        for (std::int64_t i = 0; i < m.size; ++i)
            for (std::int64_t k = first; k < first + block; k += 4) {
                const float *a = m.a + i * m.size + k, *b = m.b + k * m.size;
                const auto a0 = hn::Set(d, a[0]), a1 = hn::Set(d, a[1]), a2 = hn::Set(d, a[2]), a3 = hn::Set(d, a[3]);
                for (std::int64_t j = 0; j < m.size; j += lanes) {
                    float* c = m.c + i * m.size + j;
                    auto sum = hn::MulAdd(a0, hn::LoadU(d, b + j), hn::LoadU(d, c));
                    sum = hn::MulAdd(a1, hn::LoadU(d, b + m.size + j), sum);
                    sum = hn::MulAdd(a2, hn::LoadU(d, b + 2 * m.size + j), sum);
                    sum = hn::MulAdd(a3, hn::LoadU(d, b + 3 * m.size + j), sum);
                    hn::StoreU(sum, d, c);
                }
            }
}

// Goto and van de Geijn 2008: a strip of b stays in the first-level cache, a block of packed a in the second, and the
// packed panel of b in the third.
constexpr std::int64_t block_inner = 256, block_rows = tile_rows * 12;

void block_of_rows(const SquareMatmul& m, std::int64_t first_row, std::int64_t k, const float* packed_b) {
    const std::int64_t inner = std::min(block_inner, m.size - k), rows = std::min(block_rows, m.size - first_row);
    const Tensor packed = Tensor::empty({block_rows, block_inner});
    auto* packed_a = packed.data<float>();
    for (std::int64_t row = 0; row < rows; row += tile_rows)
        pack_rows(m.a + (first_row + row) * m.size + k, m.size, rows - row, inner, packed_a + row * inner);
    for (std::int64_t column = 0; column < m.size; column += tile_columns)
        for (std::int64_t row = 0; row < rows; row += tile_rows)
            add_tile(packed_a + row * inner, packed_b + column * inner, inner,
                     m.c + (first_row + row) * m.size + column, m.size, rows - row, m.size - column);
}

// `grain`: how many pieces of work one thread takes at least.
void tiled(const SquareMatmul& m, std::int64_t grain) {
    const std::int64_t b_strips = strips(m.size, tile_columns);
    const Tensor packed = Tensor::empty({b_strips * tile_columns, block_inner});
    std::fill_n(m.c, m.size * m.size, 0.0f);
    for (std::int64_t k = 0; k < m.size; k += block_inner) {
        const std::int64_t inner = std::min(block_inner, m.size - k);
        parallel_for(b_strips, grain, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t column = begin * tile_columns; column < end * tile_columns; column += tile_columns)
                pack_columns(m.b + k * m.size + column, m.size, inner, m.size - column,
                             packed.data<float>() + column * inner);
        });
        parallel_for(strips(m.size, block_rows), grain, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t block = begin; block < end; ++block)
                block_of_rows(m, block * block_rows, k, packed.data<float>());
        });
    }
}

}  // namespace tessera::benchmarks::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::benchmarks {

HWY_EXPORT(simd);
HWY_EXPORT(tiled);

void matmul_simd(const SquareMatmul& m) { HWY_DYNAMIC_DISPATCH(simd)(m); }
void matmul_tiled(const SquareMatmul& m) { HWY_DYNAMIC_DISPATCH(tiled)(m, m.size); }
void matmul_threads(const SquareMatmul& m) { HWY_DYNAMIC_DISPATCH(tiled)(m, 1); }

}  // namespace tessera::benchmarks
#endif
