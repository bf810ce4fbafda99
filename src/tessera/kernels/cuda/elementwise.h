// One function of one or two operands, element by element: the last view is written, those before it are read.
#pragma once

#include "tessera/kernels/cuda/strided.h"

namespace tessera::kernels::cuda {

constexpr int elementwise_threads = 256;

template <class T, int size, int N, class Operation>
__global__ void map_kernel(const __grid_constant__ StridedPiece<N> piece, Operation operation) {
    static_assert(N == 2 || N == 3);
    const std::uint32_t number = blockIdx.x * elementwise_threads + threadIdx.x;
    if (number >= ceil_divide(piece.elements, size)) return;
    const auto offset = piece.dimensions.offsets(number);
    const std::uint32_t count = piece.elements_at(number);
    const auto first = load_pack<T, size>(piece, 0, offset[0], count);
    Pack<T, size> out;
    if constexpr (N == 2) {
#pragma unroll
        for (int i = 0; i < size; ++i) out.value[i] = convert_to<T>(operation(widen(first.value[i])));
    } else {
        const auto second = load_pack<T, size>(piece, 1, offset[1], count);
#pragma unroll
        for (int i = 0; i < size; ++i)
            out.value[i] = convert_to<T>(operation(widen(first.value[i]), widen(second.value[i])));
    }
    store_pack(piece, N - 1, offset[N - 1], count, out);
}

template <int N, class Operation>
void map_on_cuda(const char* name, const std::array<const View*, N>& views, Operation operation) {
    const View& out = *views[N - 1];
    const cudaStream_t stream = stream_of(out.device.index);
    visit_float(out.dtype, name, [&]<class T>(Type<T>) {
        constexpr int size = 16 / sizeof(T);
        StridedWalk<N>(views, size).pieces([&](const StridedPiece<N>& piece) {
            const unsigned blocks = ceil_divide(piece.numbers(), elementwise_threads);
            if (piece.pack == size)
                map_kernel<T, size, N><<<blocks, elementwise_threads, 0, stream>>>(piece, operation);
            else
                map_kernel<T, 1, N><<<blocks, elementwise_threads, 0, stream>>>(piece, operation);
            check_launch(name);
        });
    });
}

}  // namespace tessera::kernels::cuda
