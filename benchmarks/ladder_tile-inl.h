// A tile of a matrix product kept in registers: what both ladders stand on from the SIMD rungs on. The operands are
// packed into strips in the order in which the tile reads them:
//
//     a: strips of tile_rows rows         b: strips of tile_columns columns
//        strip[k][row]                       strip[k][column]
#if defined(TESSERA_BENCHMARKS_LADDER_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_BENCHMARKS_LADDER_TILE_INL_H
#undef TESSERA_BENCHMARKS_LADDER_TILE_INL_H
#else
#define TESSERA_BENCHMARKS_LADDER_TILE_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace tessera::benchmarks::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
constexpr std::int64_t lanes = hn::MaxLanes(Tag());
constexpr std::int64_t tile_columns = 2 * lanes;
// Two vectors of sums a row, two of b and one of a must fit into 32 registers with AVX-512, into 16 with AVX2.
constexpr int tile_rows = HWY_TARGET <= HWY_AVX3 ? 14 : 6;

constexpr std::int64_t strips(std::int64_t count, std::int64_t width) { return (count + width - 1) / width; }

// rows × columns of a matrix into one strip of a; rows past the end become zeros.
inline void pack_rows(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* strip) {
    for (std::int64_t k = 0; k < columns; ++k)
        for (std::int64_t row = 0; row < tile_rows; ++row)
            strip[k * tile_rows + row] = row < rows ? from[row * stride + k] : 0;
}

// rows × columns (at most tile_columns) of a matrix into one strip of b; columns past the end become zeros.
inline void pack_columns(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                         float* strip) {
    for (std::int64_t k = 0; k < rows; ++k)
        for (std::int64_t column = 0; column < tile_columns; ++column)
            strip[k * tile_columns + column] = column < columns ? from[k * stride + column] : 0;
}

template <int... Row>
HWY_INLINE void whole_tile(std::integer_sequence<int, Row...>, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                           std::int64_t inner, float* HWY_RESTRICT c, std::int64_t stride) {
    const Tag d;
    hn::Vec<Tag> left[tile_rows], right[tile_rows];
    ((left[Row] = hn::Zero(d), right[Row] = hn::Zero(d)), ...);
    for (std::int64_t k = 0; k < inner; ++k, a += tile_rows, b += tile_columns) {
        const auto b_left = hn::Load(d, b), b_right = hn::Load(d, b + lanes);
        ((left[Row] = hn::MulAdd(hn::Set(d, a[Row]), b_left, left[Row]),
          right[Row] = hn::MulAdd(hn::Set(d, a[Row]), b_right, right[Row])),
         ...);
    }
    ((hn::StoreU(hn::Add(left[Row], hn::LoadU(d, c + Row * stride)), d, c + Row * stride),
      hn::StoreU(hn::Add(right[Row], hn::LoadU(d, c + Row * stride + lanes)), d, c + Row * stride + lanes)),
     ...);
}

// c (rows × columns, at most one tile) += a strip · b strip.
inline void add_tile(const float* a, const float* b, std::int64_t inner, float* c, std::int64_t stride,
                     std::int64_t rows, std::int64_t columns) {
    constexpr auto all_rows = std::make_integer_sequence<int, tile_rows>();
    if (rows >= tile_rows && columns >= tile_columns) return whole_tile(all_rows, a, b, inner, c, stride);
    HWY_ALIGN float tile[tile_rows * tile_columns] = {};
    whole_tile(all_rows, a, b, inner, tile, tile_columns);
    for (std::int64_t row = 0; row < std::min<std::int64_t>(rows, tile_rows); ++row)
        for (std::int64_t column = 0; column < std::min(columns, tile_columns); ++column)
            c[row * stride + column] += tile[row * tile_columns + column];
}

}  // namespace tessera::benchmarks::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
