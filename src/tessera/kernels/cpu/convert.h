// Rows between storage types and the types we compute in. The 16-bit formats go through vectors.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tessera/core/half.h"

namespace tessera::kernels::cpu {

void to_float(const BFloat16* from, float* to, std::int64_t count);
void to_float(const Float16* from, float* to, std::int64_t count);
void from_float(const float* from, BFloat16* to, std::int64_t count);
void from_float(const float* from, Float16* to, std::int64_t count);

template <class From, class To>
To convert(From value) {
    if constexpr (std::is_same_v<To, BFloat16> || std::is_same_v<To, Float16>)
        return To(static_cast<float>(value));
    else if constexpr (std::is_same_v<From, BFloat16> || std::is_same_v<From, Float16>)
        return static_cast<To>(static_cast<float>(value));
    else
        return static_cast<To>(value);
}

template <class T>
constexpr bool is_half = std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

// A strided row as contiguous values of Compute: the row itself where it already is that, else a copy in `buffer`.
template <class Compute, class T>
const Compute* load_row(const T* row, std::int64_t stride, std::int64_t length, Compute* buffer) {
    if constexpr (std::is_same_v<Compute, T>) {
        if (stride == 1) return row;
    } else if constexpr (std::is_same_v<Compute, float> && is_half<T>) {
        if (stride == 1) {
            to_float(row, buffer, length);
            return buffer;
        }
    }
    for (std::int64_t i = 0; i < length; ++i) buffer[i] = convert<T, Compute>(row[i * stride]);
    return buffer;
}

// Where to compute a row of results (the row itself, or `buffer`), and then bringing it home.
template <class Compute, class T>
Compute* result_row(T* row, std::int64_t stride, Compute* buffer) {
    if constexpr (std::is_same_v<Compute, T>) {
        if (stride == 1) return row;
    }
    return buffer;
}

template <class Compute, class T>
void store_row(const Compute* values, T* row, std::int64_t stride, std::int64_t length) {
    if constexpr (std::is_same_v<Compute, T>) {
        if (values == row) return;
    } else if constexpr (std::is_same_v<Compute, float> && is_half<T>) {
        if (stride == 1) return from_float(values, row, length);
    }
    for (std::int64_t i = 0; i < length; ++i) row[i * stride] = convert<Compute, T>(values[i]);
}

}  // namespace tessera::kernels::cpu
