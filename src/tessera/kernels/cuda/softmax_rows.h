// Shared parts of the softmax and cross-entropy kernels: the largest value of a row and the sum of exponentials
// relative to it, found together in one reading (online softmax: Milakov & Gimelshein 2018).
#pragma once

#include <limits>

#include "tessera/kernels/cuda/norm_rows.h"

namespace tessera::kernels::cuda {

// The same rules as group_sum. NaN is passed over: it shows in the sums.
template <int threads, class T>
__device__ T group_max(T value) {
#pragma unroll
    for (int distance = warp_size / 2; distance > 0; distance /= 2)
        value = ::max(value, __shfl_xor_sync(0xffffffffu, value, distance));
    if constexpr (threads == warp_size) return value;
    constexpr int warps = threads / warp_size;
    __shared__ T largest[warps];
    __syncthreads();  // the values of a call before this one have been read
    if (threadIdx.x % warp_size == 0) largest[threadIdx.x / warp_size] = value;
    __syncthreads();
    T most = largest[0];
#pragma unroll
    for (int warp = 1; warp < warps; ++warp) most = ::max(most, largest[warp]);
    return most;
}

template <class T>
__device__ T lowest() {
    return -std::numeric_limits<T>::infinity();
}

// What is subtracted before exponentials are taken. Values of −∞ leave nothing to subtract: −∞ − −∞ would be NaN.
template <class T>
__device__ T shift_of(T largest) {
    return largest == lowest<T>() ? T(0) : largest;
}

template <class T>
struct RowTotal {
    T largest, total;  // Σ e^x = total · e^largest
};

// Over the first `length` values of a row; load(column) gives `size` of them. Every thread of the group gets it.
template <int size, int group, class T, class Load>
__device__ RowTotal<T> row_total(int length, Load&& load) {
    RowTotal<T> own{lowest<T>(), T(0)};
    for (int column = threadIdx.x % group * size; column < length; column += group * size) {
        Values<T, size> values = load(column);
        T most = own.largest;
#pragma unroll
        for (int k = 0; k < size; ++k) {
            if (column + k >= length) values.value[k] = lowest<T>();
            most = ::max(most, values.value[k]);
        }
        if (most > own.largest) {
            own.total *= ::exp(own.largest - most);
            own.largest = most;
        }
#pragma unroll
        for (int k = 0; k < size; ++k) own.total += ::exp(values.value[k] - shift_of(own.largest));
    }
    const T largest = group_max<group>(own.largest);
    const bool as_it_is = own.largest == largest || own.largest == lowest<T>();
    return {largest, group_sum<group>(as_it_is ? own.total : own.total * ::exp(own.largest - largest))};
}

}  // namespace tessera::kernels::cuda
