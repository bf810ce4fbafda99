#include "tessera/kernels/expert_rows.h"

#include "tessera/kernels/cuda/block_sum.h"
#include "tessera/kernels/cuda/copy_rows.h"
#include "tessera/kernels/cuda/stream.h"
#include "tessera/kernels/cuda/values.h"

namespace tessera::kernels::cuda {
namespace {

constexpr int threads = 256;

void gather_rows_on_cuda(const View& x, const View& tokens, const View& out) { copy_rows(x, tokens, out); }

// A block per token.
template <class T>
__global__ void combine_kernel(const T* rows, std::int64_t row_stride, const T* weights, const std::int64_t* positions,
                               T* out, std::int64_t out_stride, std::int64_t k, std::int64_t width) {
    using Compute = compute_t<T>;
    const std::int64_t token = blockIdx.x;
    for (std::int64_t i = threadIdx.x; i < width; i += threads) {
        Compute sum = 0;
        for (std::int64_t s = 0; s < k; ++s) {
            const Compute weight = weights ? widen(weights[token * k + s]) : Compute(1);
            sum += weight * widen(rows[positions[token * k + s] * row_stride + i]);
        }
        out[token * out_stride + i] = convert_to<T>(sum);
    }
}

void combine_rows_on_cuda(const View& rows, const View& weights, const View& positions, const View& out) {
    if (out.elements() == 0) return;
    check(out.shape[0] < std::int64_t{1} << 31, "combine: ", out.shape, " are too many rows");
    visit_float(rows.dtype, "combine", [&]<class T>(Type<T>) {
        combine_kernel<<<static_cast<unsigned>(out.shape[0]), threads, 0, stream_of(out.device.index)>>>(
            rows.as<const T>(), rows.strides[0], weights.as<const T>(), positions.as<const std::int64_t>(), out.as<T>(),
            out.strides[0], positions.shape[1], out.shape[1]);
        check_launch("combine");
    });
}

// A block per token and expert.
template <class T>
__global__ void combine_backward_kernel(const T* gradient, std::int64_t gradient_stride, const T* rows,
                                        std::int64_t row_stride, const T* weights, const std::int64_t* positions,
                                        T* row_gradient, std::int64_t row_gradient_stride, T* weight_gradient,
                                        std::int64_t k, std::int64_t width) {
    const std::int64_t pair = blockIdx.x, position = positions[pair];
    gradient += pair / k * gradient_stride;
    rows += position * row_stride;
    row_gradient += position * row_gradient_stride;
    const auto weight = widen(weights[pair]);
    double dot = 0;
    for (std::int64_t i = threadIdx.x; i < width; i += threads) {
        const auto g = widen(gradient[i]);
        dot += static_cast<double>(g) * static_cast<double>(widen(rows[i]));
        row_gradient[i] = convert_to<T>(weight * g);
    }
    dot = group_sum<threads>(dot);
    if (threadIdx.x == 0) weight_gradient[pair] = convert_to<T>(dot);
}

void combine_rows_backward_on_cuda(const View& gradient, const View& rows, const View& weights, const View& positions,
                                   const View& row_gradient, const View& weight_gradient) {
    const std::int64_t pairs = positions.elements();
    if (pairs == 0) return;
    check(pairs < std::int64_t{1} << 31, "combine: ", positions.shape, " are too many rows");
    visit_float(rows.dtype, "combine", [&]<class T>(Type<T>) {
        combine_backward_kernel<<<static_cast<unsigned>(pairs), threads, 0, stream_of(rows.device.index)>>>(
            gradient.as<const T>(), gradient.strides[0], rows.as<const T>(), rows.strides[0], weights.as<const T>(),
            positions.as<const std::int64_t>(), row_gradient.as<T>(), row_gradient.strides[0], weight_gradient.as<T>(),
            positions.shape[1], rows.shape[1]);
        check_launch("combine_backward");
    });
}

const RegisterKernel register_gather{kernels::gather_rows, DeviceKind::CUDA, gather_rows_on_cuda};
const RegisterKernel register_combine{kernels::combine_rows, DeviceKind::CUDA, combine_rows_on_cuda};
const RegisterKernel register_combine_backward{kernels::combine_rows_backward, DeviceKind::CUDA,
                                               combine_rows_backward_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
