#include "tessera/kernels/dropout.h"

#include "tessera/kernels/cuda/stream.h"
#include "tessera/kernels/cuda/values.h"

namespace tessera::kernels::cuda {
namespace {

constexpr int threads = 256;
constexpr int words = 4;  // of one block of random numbers: an element for each

template <class T>
__global__ void dropout_kernel(kernels::DropoutRule rule, const T* x, T* out, std::int64_t elements) {
    const std::int64_t block = std::int64_t{blockIdx.x} * threads + threadIdx.x;
    if (block * words >= elements) return;
    const RandomBlock random = philox(rule.key, static_cast<std::uint64_t>(block));
    const auto scale = static_cast<compute_t<T>>(rule.scale);
#pragma unroll
    for (int i = 0; i < words; ++i) {
        const std::int64_t at = block * words + i;
        if (at < elements)
            out[at] = convert_to<T>(random.word[i] >= rule.threshold ? widen(x[at]) * scale : compute_t<T>(0));
    }
}

void dropout_on_cuda(const kernels::DropoutRule& rule, const View& x, const View& out) {
    const std::int64_t elements = x.elements();
    if (elements == 0) return;
    visit_float(x.dtype, "dropout", [&]<class T>(Type<T>) {
        dropout_kernel<<<ceil_divide(elements, threads * words), threads, 0, stream_of(out.device.index)>>>(
            rule, x.as<const T>(), out.as<T>(), elements);
        check_launch("dropout");
    });
}

const RegisterKernel register_dropout{kernels::dropout, DeviceKind::CUDA, dropout_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
