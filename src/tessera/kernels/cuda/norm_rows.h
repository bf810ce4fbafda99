// Shared parts of the forward and backward norm kernels: reading rows in packs, and which kernel suits which width.
#pragma once

#include <initializer_list>

#include "tessera/kernels/cuda/block_sum.h"
#include "tessera/kernels/cuda/dense_rows.h"
#include "tessera/kernels/cuda/stream.h"
#include "tessera/kernels/cuda/values.h"
#include "tessera/kernels/norm.h"

namespace tessera::kernels::cuda {

using kernels::NormBackward;
using kernels::NormForward;

constexpr int norm_threads = 256;

template <class T, int size>
struct Values {
    T value[size];
};

template <int size, class T>
__device__ Values<compute_t<T>, size> load_row_pack(const T* from) {
    const auto pack = *reinterpret_cast<const Pack<T, size>*>(from);
    Values<compute_t<T>, size> values;
#pragma unroll
    for (int k = 0; k < size; ++k) values.value[k] = widen(pack.value[k]);
    return values;
}

template <int size, class T>
__device__ Values<compute_t<T>, size> load_or(const T* row, int column, compute_t<T> otherwise) {
    if (row != nullptr) return load_row_pack<size>(row + column);
    Values<compute_t<T>, size> values;
#pragma unroll
    for (int k = 0; k < size; ++k) values.value[k] = otherwise;
    return values;
}

// weight + offset, or 1 without a weight.
template <int size, class T>
__device__ Values<compute_t<T>, size> load_weight(const T* weight, int column, compute_t<T> offset) {
    auto values = load_or<size>(weight, column, compute_t<T>(1));
    if (weight == nullptr) return values;
#pragma unroll
    for (int k = 0; k < size; ++k) values.value[k] += offset;
    return values;
}

// Whether rows can be moved 16 bytes at a time.
template <class T>
bool rows_pack(std::int64_t width, std::initializer_list<std::int64_t> strides,
               std::initializer_list<const void*> pointers) {
    constexpr std::int64_t size = 16 / sizeof(T);
    bool packs = width % size == 0;
    for (const std::int64_t stride : strides) packs = packs && stride % size == 0;
    for (const void* pointer : pointers) packs = packs && reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
    return packs;
}

template <int size, int group>
struct RowKernel {};

// Calls launch(RowKernel<values per access, threads per row>). Rows that do not pack are rare: one kernel does for
// them.
template <class T, class Launch>
void choose_row_kernel(bool packs, int width, Launch&& launch) {
    constexpr int size = 16 / sizeof(T);
    if (!packs) return launch(RowKernel<1, warp_size>{});
    if (width <= 1024) return launch(RowKernel<size, warp_size>{});
    launch(RowKernel<size, norm_threads>{});
}

inline void check_contiguous(const char* name, std::initializer_list<const View*> views) {
    for (const View* view : views)
        check(!view->defined() || view->is_contiguous(), name, ": a result of shape ", view->shape,
              " is not contiguous");
}

}  // namespace tessera::kernels::cuda
