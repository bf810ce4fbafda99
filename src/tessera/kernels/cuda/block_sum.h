// Sums over the threads that share a piece of work: a warp, or a whole block. Every thread gets the sum, and the order
// of additions is fixed.
#pragma once

namespace tessera::kernels::cuda {

constexpr int warp_size = 32;

template <class T>
__device__ T warp_sum(T value) {
#pragma unroll
    for (int distance = warp_size / 2; distance > 0; distance /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, distance);
    return value;
}

// `threads` is 32 (each warp for itself, no shared memory) or the size of the block. All threads must call it.
template <int threads, class T>
__device__ T group_sum(T value) {
    value = warp_sum(value);
    if constexpr (threads == warp_size) return value;
    constexpr int warps = threads / warp_size;
    __shared__ T sums[warps];
    __syncthreads();  // the sums of a call before this one have been read
    if (threadIdx.x % warp_size == 0) sums[threadIdx.x / warp_size] = value;
    __syncthreads();
    T total = sums[0];
#pragma unroll
    for (int warp = 1; warp < warps; ++warp) total += sums[warp];
    return total;
}

}  // namespace tessera::kernels::cuda
