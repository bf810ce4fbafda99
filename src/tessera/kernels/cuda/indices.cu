#include "tessera/kernels/cuda/indices.h"

#include "tessera/kernels/cuda/strided.h"
#include "tessera/kernels/cuda/workspace.h"
#include "tessera/kernels/memory.h"

namespace tessera::kernels::cuda {
namespace {

constexpr int threads = 256;
constexpr unsigned long long none = ~0ull;

template <class Index>
__global__ void find_outside_kernel(const Index* index, std::int64_t count, std::int64_t size,
                                    unsigned long long* first) {
    const std::int64_t at = std::int64_t{blockIdx.x} * threads + threadIdx.x;
    if (at < count && (index[at] < 0 || index[at] >= size)) atomicMin(first, static_cast<unsigned long long>(at));
}

bool is_capturing(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check_cuda(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
    return status != cudaStreamCaptureStatusNone;
}

// A broadcast index says the same thing many times.
View without_repetition(View index) {
    for (int dim = 0; dim < index.rank(); ++dim)
        if (index.strides[dim] == 0 && index.shape[dim] > 1) index.shape[dim] = 1;
    return index;
}

template <class T>
T read_from_device(const T* data, Device device) {
    T value;
    driver(DeviceKind::CUDA).copy(&value, cpu, data, device, sizeof value);
    return value;
}

}  // namespace

std::optional<std::int64_t> find_outside(const View& index, std::int64_t size, const char* who) {
    const cudaStream_t stream = stream_of(index.device.index);
    if (index.elements() == 0 || is_capturing(stream)) return std::nullopt;
    const View once = without_repetition(index);
    const std::int64_t count = once.elements();
    return visit_index(index.dtype, who, [&]<class Index>(Type<Index>) -> std::optional<std::int64_t> {
        const Workspace<Index> dense(index.device, once.is_contiguous() ? 0 : count);
        const Index* values = once.as<const Index>();
        if (dense.data() != nullptr) {
            kernels::copy.on(index.device)(
                once, {dense.data(), index.dtype, index.device, once.shape, contiguous_strides(once.shape)});
            values = dense.data();
        }
        const Workspace<unsigned long long> first(index.device, 1);
        check_cuda(cudaMemsetAsync(first.data(), 0xff, sizeof none, stream), "cudaMemsetAsync");
        find_outside_kernel<<<ceil_divide(count, threads), threads, 0, stream>>>(values, count, size, first.data());
        check_launch(who);
        const unsigned long long found = read_from_device(first.data(), index.device);
        if (found == none) return std::nullopt;
        return read_from_device(values + found, index.device);
    });
}

}  // namespace tessera::kernels::cuda
