#include "tessera/kernels/cuda/stream.h"

#include <mutex>
#include <vector>

#include "tessera/core/device.h"

namespace tessera::kernels::cuda {
namespace {

struct OpenDevice {
    std::once_flag opened;
    cudaStream_t stream = nullptr;
};

int attribute(cudaDeviceAttr which, int index) {
    int value = 0;
    check_cuda(cudaDeviceGetAttribute(&value, which, index), "cudaDeviceGetAttribute");
    return value;
}

OpenDevice& open_device(int index) {
    // Never destroyed: tensors with static lifetime may still be freed after any other static object.
    static auto* devices = [] {
        const DeviceDriver* found = find_driver(DeviceKind::CUDA);
        return new std::vector<OpenDevice>(static_cast<std::size_t>(found->count()));
    }();
    check(index >= 0 && index < static_cast<int>(devices->size()), "cuda:", index, ": no such device, ",
          devices->size(), " found");
    OpenDevice& device = (*devices)[static_cast<std::size_t>(index)];
    std::call_once(device.opened, [&] {
        const int capability = 10 * attribute(cudaDevAttrComputeCapabilityMajor, index) +
                               attribute(cudaDevAttrComputeCapabilityMinor, index);
        check(capability == 90, "cuda:", index, " has compute capability ", capability / 10, ".", capability % 10,
              "; the kernels of this program are compiled for 9.0 (Hopper)");
        check_cuda(cudaSetDevice(index), "cudaSetDevice");
        check_cuda(cudaStreamCreateWithFlags(&device.stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    });
    return device;
}

}  // namespace

void check_cuda(cudaError_t result, const char* call) {
    if (result == cudaSuccess) [[likely]]
        return;
    cudaGetLastError();  // so that the next launch does not report this error again
    fail(call, ": ", cudaGetErrorString(result));
}

void check_launch(const char* kernel) { check_cuda(cudaGetLastError(), kernel); }

cudaStream_t stream_of(int device_index) {
    const OpenDevice& device = open_device(device_index);
    check_cuda(cudaSetDevice(device_index), "cudaSetDevice");
    return device.stream;
}

}  // namespace tessera::kernels::cuda
