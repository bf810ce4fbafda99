// Two softmaxes over disjoint keys made one: each output weighs in with its share of the sum of exponentials. A warp to
// each query and head.
#include <limits>

#include "tessera/kernels/attention.h"
#include "tessera/kernels/cuda/block_sum.h"
#include "tessera/kernels/cuda/stream.h"
#include "tessera/kernels/cuda/values.h"

namespace tessera::kernels::cuda {
namespace {

constexpr int threads = 256;

template <class T>
struct Parts {
    const T *first_out, *first_log_sum, *second_out, *second_log_sum;
    T* log_sum;
    std::int64_t lines, time, heads;
    int width;
};

template <class T, class Out>
__global__ void __launch_bounds__(threads) merge_kernel(const __grid_constant__ Parts<T> parts, Out* out) {
    const std::int64_t line = std::int64_t{blockIdx.x} * (threads / warp_size) + threadIdx.x / warp_size;  // (B, T, H)
    if (line >= parts.lines) return;
    const std::int64_t head = line % parts.heads, step = line / parts.heads % parts.time,
                       batch = line / parts.heads / parts.time;
    const std::int64_t sum = (batch * parts.heads + head) * parts.time + step;
    const T first = parts.first_log_sum[sum], second = parts.second_log_sum[sum], largest = ::max(first, second);
    const bool sees_none = largest == -std::numeric_limits<T>::infinity();
    const T from_first = sees_none ? T(0) : ::exp(first - largest),
            from_second = sees_none ? T(1) : ::exp(second - largest);
    const T share = from_first / (from_first + from_second);
    const int lane = threadIdx.x % warp_size;
    for (int i = lane; i < parts.width; i += warp_size) {
        const std::int64_t at = line * parts.width + i;
        out[at] = convert_to<Out>(share * parts.first_out[at] + (1 - share) * parts.second_out[at]);
    }
    if (lane == 0) parts.log_sum[sum] = sees_none ? largest : largest + ::log(from_first + from_second);
}

template <class T, class Out>
void merge(const kernels::AttentionParts& views) {
    const Parts<T> parts{.first_out = views.first_out.as<const T>(),
                         .first_log_sum = views.first_log_sum.as<const T>(),
                         .second_out = views.second_out.as<const T>(),
                         .second_log_sum = views.second_log_sum.as<const T>(),
                         .log_sum = views.log_sum.as<T>(),
                         .lines = views.log_sum.elements(),
                         .time = views.out.size(1),
                         .heads = views.out.size(2),
                         .width = static_cast<int>(views.out.size(3))};
    merge_kernel<T, Out>
        <<<ceil_divide(parts.lines, threads / warp_size), threads, 0, stream_of(views.out.device.index)>>>(
            parts, views.out.as<Out>());
    check_launch("attention_merge");
}

void merge_on_cuda(const kernels::AttentionParts& parts) {
    if (parts.log_sum.elements() == 0) return;
    visit_float(parts.out.dtype, "attention_merge", [&]<class Out>(Type<Out>) {
        if (parts.first_out.dtype == DType::F64)
            merge<double, Out>(parts);
        else
            merge<float, Out>(parts);
    });
}

const RegisterKernel register_merge{kernels::attention_merge, DeviceKind::CUDA, merge_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
