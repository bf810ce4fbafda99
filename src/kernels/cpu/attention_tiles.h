// Small matrix products on tiles that stay in the caches, for attention forward and backward; compiled once per vector
// target. A tile is row-major with a stride from tile_stride, and its rows are zero from their width on to a whole
// number of cache lines.
#if defined(TESSERA_ATTENTION_TILES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_ATTENTION_TILES_H
#undef TESSERA_ATTENTION_TILES_H
#else
#define TESSERA_ATTENTION_TILES_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "kernels/cpu/attention_problem.h"
#include "kernels/cpu/convert.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
std::int64_t lane_count() {
    return static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
}

// One row of `length` values, converted, scaled, and followed by zeros up to `padded`.
template <class T>
void load_values(const std::byte* from, DType dtype, std::int64_t length, std::int64_t padded, T factor, T* to) {
    if constexpr (std::is_same_v<T, double>) {
        std::copy_n(reinterpret_cast<const double*>(from), length, to);
    } else {
        if (dtype == DType::F32)
            std::copy_n(reinterpret_cast<const float*>(from), length, to);
        else if (dtype == DType::BF16)
            to_float(reinterpret_cast<const BFloat16*>(from), to, length);
        else
            to_float(reinterpret_cast<const Float16*>(from), to, length);
    }
    if (factor != T(1))
        for (std::int64_t i = 0; i < length; ++i) to[i] *= factor;
    std::fill_n(to + length, padded - length, T(0));
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
    for (std::int64_t column = 0; column < columns; ++column)
        for (std::int64_t row = 0; row < rows; ++row) to[column * to_stride + row] = from[row * from_stride + column];
}

// The left operand of a product, as it lies or transposed.
enum class Left { as_is, transposed };

// c (rows × vectors) = or += a (rows × depth) · b (depth × vectors), all accumulators in registers.
template <Left left, int rows, int vectors, class T>
HWY_INLINE void multiply_registers(const T* HWY_RESTRICT a, std::int64_t a_stride, const T* HWY_RESTRICT b,
                                   std::int64_t b_stride, T* HWY_RESTRICT c, std::int64_t c_stride, std::int64_t depth,
                                   bool add) {
    const hn::ScalableTag<T> d;
    const std::int64_t lanes = lane_count<T>();
    hn::Vec<decltype(d)> sum[rows][vectors];
#pragma GCC unroll 16
    for (int row = 0; row < rows; ++row)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) sum[row][v] = add ? hn::Load(d, c + row * c_stride + v * lanes) : hn::Zero(d);
    for (std::int64_t k = 0; k < depth; ++k) {
        hn::Vec<decltype(d)> right[vectors];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) right[v] = hn::Load(d, b + k * b_stride + v * lanes);
#pragma GCC unroll 16
        for (int row = 0; row < rows; ++row) {
            const auto value = hn::Set(d, left == Left::as_is ? a[row * a_stride + k] : a[k * a_stride + row]);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) sum[row][v] = hn::MulAdd(value, right[v], sum[row][v]);
        }
    }
#pragma GCC unroll 16
    for (int row = 0; row < rows; ++row)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) hn::Store(sum[row][v], d, c + row * c_stride + v * lanes);
}

// How many rows a register tile has: two vectors wide, it fills half of AVX-512's 32 registers or most of AVX2's 16.
constexpr int register_rows = HWY_MAX_BYTES >= 64 ? 8 : 6;

template <class T>
struct Product {
    const T* a;
    std::int64_t a_stride;
    const T* b;
    std::int64_t b_stride;
    T* c;
    std::int64_t c_stride;
    std::int64_t rows, columns, depth;
    bool add;
};

template <Left left, int rows, class T>
void multiply_rows(const Product<T>& p, std::int64_t row, std::int64_t column) {
    const T* a = p.a + (left == Left::as_is ? row * p.a_stride : row);
    T* c = p.c + row * p.c_stride + column;
    if (column + lane_count<T>() < p.columns)
        multiply_registers<left, rows, 2>(a, p.a_stride, p.b + column, p.b_stride, c, p.c_stride, p.depth, p.add);
    else
        multiply_registers<left, rows, 1>(a, p.a_stride, p.b + column, p.b_stride, c, p.c_stride, p.depth, p.add);
}

template <Left left, int rows, class T>
void multiply_last_rows(const Product<T>& p, std::int64_t row, std::int64_t column) {
    if constexpr (rows > 0) {
        if (p.rows - row == rows) return multiply_rows<left, rows>(p, row, column);
        multiply_last_rows<left, rows - 1>(p, row, column);
    }
}

// c = or += a · b. Columns are computed in whole vectors: b and c must have room for them.
template <Left left, class T>
void multiply(const Product<T>& p) {
    for (std::int64_t column = 0; column < p.columns; column += 2 * lane_count<T>()) {
        std::int64_t row = 0;
        for (; row + register_rows <= p.rows; row += register_rows) multiply_rows<left, register_rows>(p, row, column);
        multiply_last_rows<left, register_rows - 1>(p, row, column);
    }
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

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
