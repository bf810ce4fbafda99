// The one stream of each CUDA device, and the check around every CUDA call. The headers here name no CUDA header: nvcc
// includes its runtime by itself.
#pragma once

#include <cstdint>

namespace tessera::kernels::cuda {

// Throws an Error with the call's name and CUDA's own text.
void check_cuda(cudaError_t result, const char* call);
// After a kernel launch: reports what was wrong with the launch itself. What goes wrong while the kernel runs shows up
// at a later call.
void check_launch(const char* kernel);

// Makes the device current for this thread and returns its stream; throws where there is no such device.
// One stream per device, shared by all threads: the allocator hands out a freed block at once, and only on one stream
// does the new owner's kernel wait for the old owner's.
cudaStream_t stream_of(int device_index);

constexpr unsigned ceil_divide(std::int64_t count, std::int64_t size) {
    return static_cast<unsigned>((count + size - 1) / size);
}

}  // namespace tessera::kernels::cuda
