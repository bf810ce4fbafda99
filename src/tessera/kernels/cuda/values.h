// Values in device code: conversions that are one instruction each, and packs of values that are loaded at once.
#pragma once

#include <type_traits>

#include "tessera/core/dtype.h"

namespace tessera::kernels::cuda {

// Any plain dtype to any other. Floats narrow to the nearest, ties to even; floats to integers cut towards zero.
template <class To, class From>
__device__ To convert_to(From value) {
    if constexpr (std::is_same_v<To, From>) {
        return value;
    } else if constexpr (std::is_same_v<From, Float16>) {
        float wide;
        asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
        return convert_to<To>(wide);
    } else if constexpr (std::is_same_v<From, BFloat16>) {
        return convert_to<To>(__uint_as_float(static_cast<unsigned>(value.bits) << 16));
    } else if constexpr (std::is_same_v<To, Float16>) {
        Float16 narrow;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(static_cast<float>(value)));
        return narrow;
    } else if constexpr (std::is_same_v<To, BFloat16>) {
        BFloat16 narrow;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(static_cast<float>(value)));
        return narrow;
    } else {
        return static_cast<To>(value);
    }
}

template <class T>
__device__ compute_t<T> widen(T value) {
    return convert_to<compute_t<T>>(value);
}

// `size` values side by side, loaded and stored in one access of up to 16 bytes.
template <class T, int size>
struct alignas(sizeof(T) * size) Pack {
    T value[size];
};

}  // namespace tessera::kernels::cuda
