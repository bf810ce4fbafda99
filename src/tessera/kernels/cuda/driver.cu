// Memory of CUDA devices. Copies and zeroing go through the device's stream, so they keep their order with kernels.
#include "tessera/core/device.h"
#include "tessera/kernels/cuda/stream.h"

namespace tessera::kernels::cuda {
namespace {

int count_devices() {
    static const int count = [] {
        int found = 0;
        if (cudaGetDeviceCount(&found) == cudaSuccess) return found;
        cudaGetLastError();  // no driver or no device: that is an answer, not an error
        return 0;
    }();
    return count;
}

void* allocate_on_device(std::size_t bytes, int index) {
    stream_of(index);
    void* data = nullptr;
    const cudaError_t result = cudaMalloc(&data, bytes);
    if (result == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        return nullptr;
    }
    check_cuda(result, "cudaMalloc");
    return data;
}

// Waits for the device, so nothing still uses the memory. Runs in destructors: an error here (the driver is already
// shut down, or a kernel failed before) has been or will be reported elsewhere.
void release_on_device(void* data, int) {
    cudaFree(data);
    cudaGetLastError();
}

void copy_between_devices(void* to, int to_index, const void* from, int from_index, std::size_t bytes) {
    const cudaStream_t target = stream_of(to_index), source = stream_of(from_index);
    check_cuda(cudaStreamSynchronize(target), "cudaStreamSynchronize");
    check_cuda(cudaMemcpyPeerAsync(to, to_index, from, from_index, bytes, source), "cudaMemcpyPeerAsync");
    check_cuda(cudaStreamSynchronize(source), "cudaStreamSynchronize");
}

void copy_memory(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes) {
    if (bytes == 0) return;
    const bool to_host = to_device.kind == DeviceKind::CPU, from_host = from_device.kind == DeviceKind::CPU;
    if (!to_host && !from_host && to_device.index != from_device.index)
        return copy_between_devices(to, to_device.index, from, from_device.index, bytes);
    const cudaMemcpyKind kind = to_host     ? cudaMemcpyDeviceToHost
                                : from_host ? cudaMemcpyHostToDevice
                                            : cudaMemcpyDeviceToDevice;
    const cudaStream_t stream = stream_of(to_host ? from_device.index : to_device.index);
    check_cuda(cudaMemcpyAsync(to, from, bytes, kind, stream), "cudaMemcpyAsync");
    // Host memory here is pageable: CUDA has read a source in full when the call returns. A destination is waited for.
    if (to_host) check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

void zero_memory(void* data, std::size_t bytes, int index) {
    if (bytes == 0) return;
    check_cuda(cudaMemsetAsync(data, 0, bytes, stream_of(index)), "cudaMemsetAsync");
}

void synchronize(int index) { check_cuda(cudaStreamSynchronize(stream_of(index)), "cudaStreamSynchronize"); }

constexpr DeviceDriver cuda_driver{
    .count = count_devices,
    .allocate = allocate_on_device,
    .release = release_on_device,
    .copy = copy_memory,
    .zero = zero_memory,
    .synchronize = synchronize,
};
const InstallDriver install(DeviceKind::CUDA, &cuda_driver);

}  // namespace
}  // namespace tessera::kernels::cuda
