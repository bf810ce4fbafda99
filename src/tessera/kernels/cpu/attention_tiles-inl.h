// Small matrix products on tiles that stay in the caches, for attention forward and backward; compiled once per vector
// target. A tile is row-major with a stride from tile_stride, and its rows are zero from their width on to a whole
// number of cache lines.
#if defined(TESSERA_ATTENTION_TILES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_ATTENTION_TILES_INL_H
#undef TESSERA_ATTENTION_TILES_INL_H
#else
#define TESSERA_ATTENTION_TILES_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "tessera/kernels/cpu/attention_problem.h"
#include "tessera/kernels/cpu/bf16_pairs-inl.h"
#include "tessera/kernels/cpu/convert.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
std::int64_t lane_count() {
    return static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
}

template <class D, class T>
HWY_INLINE hn::Vec<D> load_vector(D d, const T* from) {
    return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> load_vector(D d, const BFloat16* from) {
    const hn::Rebind<std::uint16_t, D> half;
    const hn::RebindToUnsigned<D> word;
    const auto bits = hn::PromoteTo(word, hn::LoadU(half, reinterpret_cast<const std::uint16_t*>(from)));
    return hn::BitCast(d, hn::ShiftLeft<16>(bits));
}
template <class D>
HWY_INLINE hn::Vec<D> load_vector(D d, const Float16* from) {
    const hn::Rebind<hwy::float16_t, D> half;
    return hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from)));
}

// Calls f(pointer) with `data` as a pointer to the dtype's own type, one whose values are computed in T.
template <class T, class F>
HWY_INLINE void with_type(const std::byte* data, DType dtype, F&& f) {
    if constexpr (std::is_same_v<T, double>) {
        f(reinterpret_cast<const double*>(data));
    } else {
        if (dtype == DType::F32) return f(reinterpret_cast<const float*>(data));
        if (dtype == DType::BF16) return f(reinterpret_cast<const BFloat16*>(data));
        f(reinterpret_cast<const Float16*>(data));
    }
}

// Rows of `length` values, `step` elements apart, into the rows of a tile: converted, scaled, and followed by zeros.
template <class T>
void load_rows(const std::byte* data, DType dtype, std::int64_t step, std::int64_t rows, std::int64_t length, T factor,
               T* to, std::int64_t stride) {
    with_type<T>(data, dtype, [&]<class In>(const In* from) {
        const hn::ScalableTag<T> d;
        const auto scale = hn::Set(d, factor);
        for (std::int64_t row = 0; row < rows; ++row, from += step, to += stride) {
            std::int64_t i = 0;
            for (; i + lane_count<T>() <= length; i += lane_count<T>())
                hn::Store(hn::Mul(load_vector(d, from + i), scale), d, to + i);
            for (; i < length; ++i) to[i] = convert<In, T>(from[i]) * factor;
            for (; i < stride; ++i) to[i] = T(0);
        }
    });
}

template <class T>
void store_values(const T* from, T factor, std::int64_t length, T* buffer, std::byte* to, DType dtype) {
    for (std::int64_t i = 0; i < length; ++i) buffer[i] = from[i] * factor;
    if constexpr (std::is_same_v<T, double>) {
        std::copy_n(buffer, length, reinterpret_cast<double*>(to));
    } else {
        if (dtype == DType::F32)
            std::copy_n(buffer, length, reinterpret_cast<float*>(to));
        else if (dtype == DType::BF16)
            from_float(buffer, reinterpret_cast<BFloat16*>(to), length);
        else
            from_float(buffer, reinterpret_cast<Float16*>(to), length);
    }
}

template <class T>
void transpose_tile(const T* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns, T* to,
                    std::int64_t to_stride) {
    std::int64_t whole_rows = 0, whole_columns = 0;
    if constexpr (std::is_same_v<T, float>) {  // squares of 4 × 4
        const hn::Full128<float> d;
        const hn::RepartitionToWide<decltype(d)> pairs;
        const auto low = [&](auto a, auto b) {
            return hn::BitCast(d, hn::InterleaveLower(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
        };
        const auto high = [&](auto a, auto b) {
            return hn::BitCast(d, hn::InterleaveUpper(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
        };
        whole_rows = rows / 4 * 4;
        whole_columns = columns / 4 * 4;
        for (std::int64_t row = 0; row < whole_rows; row += 4)
            for (std::int64_t column = 0; column < whole_columns; column += 4) {
                const float* a = from + row * from_stride + column;
                const auto r0 = hn::Load(d, a), r1 = hn::Load(d, a + from_stride);
                const auto r2 = hn::Load(d, a + 2 * from_stride), r3 = hn::Load(d, a + 3 * from_stride);
                const auto low01 = hn::InterleaveLower(d, r0, r1), high01 = hn::InterleaveUpper(d, r0, r1);
                const auto low23 = hn::InterleaveLower(d, r2, r3), high23 = hn::InterleaveUpper(d, r2, r3);
                float* b = to + column * to_stride + row;
                hn::Store(low(low01, low23), d, b);
                hn::Store(high(low01, low23), d, b + to_stride);
                hn::Store(low(high01, high23), d, b + 2 * to_stride);
                hn::Store(high(high01, high23), d, b + 3 * to_stride);
            }
    }
    for (std::int64_t column = 0; column < columns; ++column)
        for (std::int64_t row = column < whole_columns ? whole_rows : 0; row < rows; ++row)
            to[column * to_stride + row] = from[row * from_stride + column];
}

// The left operand of a product, as it lies or transposed.
enum class Left { AsIs, Transposed };

// c (rows × vectors) = or += a (rows × depth) · b (depth × vectors), all accumulators in registers. The depth counts
// words: T themselves or pairs of bf16.
template <Left left, int rows, int vectors, class T, class Word>
HWY_INLINE void multiply_registers(const Word* HWY_RESTRICT a, std::int64_t a_stride, const Word* HWY_RESTRICT b,
                                   std::int64_t b_stride, T* HWY_RESTRICT c, std::int64_t c_stride, std::int64_t depth,
                                   bool add) {
    const hn::ScalableTag<T> d;
    const hn::ScalableTag<Word> words;
    const std::int64_t lanes = lane_count<T>();
    hn::Vec<decltype(d)> sum[rows][vectors];
#pragma GCC unroll 16
    for (int row = 0; row < rows; ++row)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) sum[row][v] = add ? hn::Load(d, c + row * c_stride + v * lanes) : hn::Zero(d);
    for (std::int64_t k = 0; k < depth; ++k) {
        hn::Vec<decltype(words)> right[vectors];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) right[v] = hn::Load(words, b + k * b_stride + v * lanes);
#pragma GCC unroll 16
        for (int row = 0; row < rows; ++row) {
            const auto value = hn::Set(words, left == Left::AsIs ? a[row * a_stride + k] : a[k * a_stride + row]);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) sum[row][v] = multiply_add(d, value, right[v], sum[row][v]);
        }
    }
#pragma GCC unroll 16
    for (int row = 0; row < rows; ++row)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) hn::Store(sum[row][v], d, c + row * c_stride + v * lanes);
}

// How many rows a register tile has: two vectors wide, it fills half of AVX-512's 32 registers or most of AVX2's 16.
constexpr int register_rows = HWY_MAX_BYTES >= 64 ? 8 : 6;

template <class T, class Word = T>
struct Product {
    const Word* a;
    std::int64_t a_stride;  // in words
    const Word* b;
    std::int64_t b_stride;
    T* c;
    std::int64_t c_stride;
    std::int64_t rows, columns, depth;  // in numbers
    bool add;
};

// `depth` counts words.
template <Left left, int rows, class T, class Word>
void multiply_rows(const Product<T, Word>& p, std::int64_t row, std::int64_t column, kernels::KeyRange depth) {
    const Word* a = p.a + (left == Left::AsIs ? row * p.a_stride + depth.begin : depth.begin * p.a_stride + row);
    const Word* b = p.b + depth.begin * p.b_stride + column;
    T* c = p.c + row * p.c_stride + column;
    const std::int64_t count = depth.end - depth.begin;
    if (column + lane_count<T>() < p.columns)
        multiply_registers<left, rows, 2>(a, p.a_stride, b, p.b_stride, c, p.c_stride, count, p.add);
    else
        multiply_registers<left, rows, 1>(a, p.a_stride, b, p.b_stride, c, p.c_stride, count, p.add);
}

template <Left left, int rows, class T, class Word, class DepthOf>
void multiply_last_rows(const Product<T, Word>& p, std::int64_t row, std::int64_t column, const DepthOf& depth_of) {
    if constexpr (rows > 0) {
        if (p.rows - row == rows)
            return multiply_rows<left, rows>(p, row, column, words_of<Word>(depth_of(row, row + rows)));
        multiply_last_rows<left, rows - 1>(p, row, column, depth_of);
    }
}

// c = or += a · b. Columns are computed in whole vectors: b and c must have room for them. depth_of(begin, end) says
// which part of the depth is not all zero in these rows of a.
template <Left left, class T, class Word, class DepthOf>
void multiply(const Product<T, Word>& p, const DepthOf& depth_of) {
    for (std::int64_t column = 0; column < p.columns; column += 2 * lane_count<T>()) {
        std::int64_t row = 0;
        for (; row + register_rows <= p.rows; row += register_rows)
            multiply_rows<left, register_rows>(p, row, column, words_of<Word>(depth_of(row, row + register_rows)));
        multiply_last_rows<left, register_rows - 1>(p, row, column, depth_of);
    }
}

template <Left left, class T, class Word>
void multiply(const Product<T, Word>& p) {
    multiply<left>(p, [&](std::int64_t, std::int64_t) { return kernels::KeyRange{0, p.depth}; });
}

// 2^x for x ≤ 0 or a little above: within two units in the last place, 0 below 2^-125, NaN for NaN.
template <class D, class V>
HWY_INLINE V exp2_of_negative(D d, V x) {
    using T = hn::TFromD<D>;
    if constexpr (std::is_same_v<T, double>) {
        return hn::Exp(d, hn::Mul(x, hn::Set(d, 0.69314718055994530942)));
    } else {
        // x = n + r with |r| ≤ ½. Adding 1.5 · 2^23 rounds to an integer and leaves it in the low mantissa bits.
        const hn::RebindToUnsigned<D> bits;
        const V shifter = hn::Set(d, 12582912.0f);
        const V shifted = hn::Add(x, shifter);
        const V r = hn::Sub(x, hn::Sub(shifted, shifter));
        V power = hn::Set(d, 0.00015345812f);  // the polynomial of degree 6 with the least relative error, 1.9e-9
        power = hn::MulAdd(power, r, hn::Set(d, 0.00133999312f));
        power = hn::MulAdd(power, r, hn::Set(d, 0.00961848896f));
        power = hn::MulAdd(power, r, hn::Set(d, 0.0555032878f));
        power = hn::MulAdd(power, r, hn::Set(d, 0.240226469f));
        power = hn::MulAdd(power, r, hn::Set(d, 0.693147206f));
        power = hn::MulAdd(power, r, hn::Set(d, 1.0f));
        const auto exponent = hn::ShiftLeft<23>(hn::BitCast(bits, shifted));
        const V scaled = hn::BitCast(d, hn::Add(hn::BitCast(bits, power), exponent));
        return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -125.0f)), scaled);
    }
}

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
