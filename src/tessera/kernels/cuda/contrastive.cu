// Kernels of the contrastive losses, besides matrix products. Rows are summed in double, a block to each.
#include "tessera/kernels/contrastive.h"

#include "tessera/kernels/cuda/norm_rows.h"
#include "tessera/kernels/cuda/strided.h"

namespace tessera::kernels::cuda {
namespace {

constexpr int threads = norm_threads;

template <class T, int size>
__global__ void __launch_bounds__(threads)
    scale_kernel(const __grid_constant__ StridedPiece<2> piece, const T* log_factor) {
    const std::uint32_t number = blockIdx.x * threads + threadIdx.x;
    if (number >= ceil_divide(piece.elements, size)) return;
    const compute_t<T> factor = ::exp(widen(*log_factor));
    const auto offset = piece.dimensions.offsets(number);
    const std::uint32_t count = piece.elements_at(number);
    const auto x = load_pack<T, size>(piece, 0, offset[0], count);
    Pack<T, size> y;
#pragma unroll
    for (int k = 0; k < size; ++k) y.value[k] = convert_to<T>(factor * widen(x.value[k]));
    store_pack(piece, 1, offset[1], count, y);
}

void scale_by_exp_on_cuda(const View& x, const View& log_factor, const View& y) {
    const cudaStream_t stream = stream_of(x.device.index);
    visit_float(x.dtype, "scale_by_exp", [&]<class T>(Type<T>) {
        constexpr int size = 16 / sizeof(T);
        StridedWalk<2>({&x, &y}, size).pieces([&](const StridedPiece<2>& piece) {
            const unsigned blocks = ceil_divide(piece.numbers(), threads);
            if (piece.pack == size)
                scale_kernel<T, size><<<blocks, threads, 0, stream>>>(piece, log_factor.as<const T>());
            else
                scale_kernel<T, 1><<<blocks, threads, 0, stream>>>(piece, log_factor.as<const T>());
            check_launch("scale_by_exp");
        });
    });
}

template <class T>
struct PairTask {
    const T* logits;
    T *losses, *gradient;  // the gradient may be null
    std::int64_t logits_stride, gradient_stride, columns;
};

template <class T>
__global__ void __launch_bounds__(threads) pair_kernel(const __grid_constant__ PairTask<T> task) {
    const std::int64_t row = blockIdx.x;
    double loss = 0;
    for (std::int64_t j = threadIdx.x; j < task.columns; j += threads) {
        const T sign = j == row ? T(1) : T(-1);
        const T margin = sign * task.logits[row * task.logits_stride + j];
        const T small = ::exp(-fabs(margin));  // in (0, 1]: neither form overflows
        loss += static_cast<double>(log1p(small) + ::max(-margin, T(0)));
        if (task.gradient != nullptr)
            task.gradient[row * task.gradient_stride + j] = -sign * (margin > 0 ? small : T(1)) / (1 + small);
    }
    loss = group_sum<threads>(loss);
    if (threadIdx.x == 0) task.losses[row] = static_cast<T>(loss);
}

void pair_sigmoid_on_cuda(const View& logits, const View& losses, const View& gradient) {
    const auto run = [&]<class T>(Type<T>) {
        if (logits.shape[0] == 0) return;
        const PairTask<T> task{.logits = logits.as<const T>(),
                               .losses = losses.as<T>(),
                               .gradient = gradient.as<T>(),
                               .logits_stride = logits.strides[0],
                               .gradient_stride = gradient.defined() ? gradient.strides[0] : 0,
                               .columns = logits.shape[1]};
        pair_kernel<T><<<static_cast<unsigned>(logits.shape[0]), threads, 0, stream_of(logits.device.index)>>>(task);
        check_launch("pair_sigmoid");
    };
    if (logits.dtype == DType::F64) return run(Type<double>{});
    check(logits.dtype == DType::F32, "pair_sigmoid: needs f32 or f64, not ", logits.dtype);
    run(Type<float>{});
}

// Σ a · b over a row, by the block.
template <class T>
__device__ double row_dot(const T* a, const T* b, std::int64_t width) {
    double sum = 0;
    for (std::int64_t i = threadIdx.x; i < width; i += threads) sum += static_cast<double>(widen(a[i]) * widen(b[i]));
    return group_sum<threads>(sum);
}

template <class T>
struct NormaliseTask {
    using Compute = compute_t<T>;
    const T *x, *gradient;
    T* out;
    Compute* inverse_norms;
    std::int64_t x_stride, gradient_stride, out_stride, width;
    double eps;
};

template <class T>
__global__ void __launch_bounds__(threads) normalise_kernel(const __grid_constant__ NormaliseTask<T> task) {
    using Compute = compute_t<T>;
    const std::int64_t row = blockIdx.x;
    const T* x = task.x + row * task.x_stride;
    const double norm = ::sqrt(row_dot(x, x, task.width));
    const auto inverse = static_cast<Compute>(1 / ::max(norm, task.eps));
    if (threadIdx.x == 0) task.inverse_norms[row] = inverse;
    for (std::int64_t i = threadIdx.x; i < task.width; i += threads)
        task.out[row * task.out_stride + i] = convert_to<T>(widen(x[i]) * inverse);
}

// y = x / n: dx = (g − y (g · y)) / n. A row shorter than eps is only divided by eps.
template <class T>
__global__ void __launch_bounds__(threads) normalise_backward_kernel(const __grid_constant__ NormaliseTask<T> task) {
    using Compute = compute_t<T>;
    const std::int64_t row = blockIdx.x;
    const T *y = task.x + row * task.x_stride, *gradient = task.gradient + row * task.gradient_stride;
    const Compute inverse = task.inverse_norms[row];
    const auto dot = static_cast<Compute>(row_dot(gradient, y, task.width));
    const Compute along = inverse >= static_cast<Compute>(1 / task.eps) ? Compute(0) : dot;
    for (std::int64_t i = threadIdx.x; i < task.width; i += threads)
        task.out[row * task.out_stride + i] = convert_to<T>(inverse * (widen(gradient[i]) - widen(y[i]) * along));
}

void l2_normalise_on_cuda(const View& x, double eps, const View& y, const View& inverse_norms) {
    if (x.shape[0] == 0) return;
    visit_float(x.dtype, "l2_normalise", [&]<class T>(Type<T>) {
        const NormaliseTask<T> task{.x = x.as<const T>(),
                                    .gradient = nullptr,
                                    .out = y.as<T>(),
                                    .inverse_norms = inverse_norms.as<compute_t<T>>(),
                                    .x_stride = x.strides[0],
                                    .gradient_stride = 0,
                                    .out_stride = y.strides[0],
                                    .width = x.shape[1],
                                    .eps = eps};
        normalise_kernel<T><<<static_cast<unsigned>(x.shape[0]), threads, 0, stream_of(x.device.index)>>>(task);
        check_launch("l2_normalise");
    });
}

void l2_normalise_backward_on_cuda(const View& gradient, const View& y, const View& inverse_norms, double eps,
                                   const View& x_gradient) {
    if (y.shape[0] == 0) return;
    visit_float(y.dtype, "l2_normalise", [&]<class T>(Type<T>) {
        const NormaliseTask<T> task{.x = y.as<const T>(),
                                    .gradient = gradient.as<const T>(),
                                    .out = x_gradient.as<T>(),
                                    .inverse_norms = inverse_norms.as<compute_t<T>>(),
                                    .x_stride = y.strides[0],
                                    .gradient_stride = gradient.strides[0],
                                    .out_stride = x_gradient.strides[0],
                                    .width = y.shape[1],
                                    .eps = eps};
        normalise_backward_kernel<T>
            <<<static_cast<unsigned>(y.shape[0]), threads, 0, stream_of(y.device.index)>>>(task);
        check_launch("l2_normalise_backward");
    });
}

const RegisterKernel register_scale{kernels::scale_by_exp, DeviceKind::CUDA, scale_by_exp_on_cuda};
const RegisterKernel register_pairs{kernels::pair_sigmoid, DeviceKind::CUDA, pair_sigmoid_on_cuda};
const RegisterKernel register_normalise{kernels::l2_normalise, DeviceKind::CUDA, l2_normalise_on_cuda};
const RegisterKernel register_normalise_backward{kernels::l2_normalise_backward, DeviceKind::CUDA,
                                                 l2_normalise_backward_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
