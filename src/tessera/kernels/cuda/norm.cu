// Layer norm and RMS norm forward. A warp takes a narrow row, a block a wide one; the row is read from memory once and
// found in the L1 cache after that.
#include "tessera/kernels/norm.h"

#include "tessera/kernels/cuda/norm_rows.h"

namespace tessera::kernels::cuda {
namespace {

template <class T>
struct ForwardTask {
    using Compute = compute_t<T>;
    const T *x, *residual, *weight, *bias;  // null where absent
    std::int64_t x_stride, residual_stride;
    T *out, *sum;
    Compute *mean, *rstd;
    std::int64_t rows;
    int width;
    Compute weight_offset, eps;
    bool centred;
};

// Calls body(column, pack of values in the compute type) for this thread's share of a row.
template <class T, int size, int group, class Body>
__device__ void walk_row(const T* row, int width, Body&& body) {
    for (int column = threadIdx.x % group * size; column < width; column += group * size)
        body(column, load_row_pack<size>(row + column));
}

// x + residual, rounded and stored: what is normalised is what is handed on.
template <class T, int size, int group>
__device__ void add_residual(const ForwardTask<T>& task, std::int64_t row) {
    const T* residual = task.residual + row * task.residual_stride;
    T* sum = task.sum + row * task.width;
    walk_row<T, size, group>(task.x + row * task.x_stride, task.width, [&](int column, const auto& x) {
        const auto more = load_row_pack<size>(residual + column);
        Pack<T, size> total;
#pragma unroll
        for (int k = 0; k < size; ++k) total.value[k] = convert_to<T>(x.value[k] + more.value[k]);
        *reinterpret_cast<Pack<T, size>*>(sum + column) = total;
    });
}

template <class T, int size, int group>
__global__ void __launch_bounds__(norm_threads) norm_kernel(const __grid_constant__ ForwardTask<T> task) {
    using Compute = compute_t<T>;
    const std::int64_t row = std::int64_t{blockIdx.x} * (norm_threads / group) + threadIdx.x / group;
    if (row >= task.rows) return;  // a whole group leaves together
    const T* x = task.x + row * task.x_stride;
    if (task.residual) {
        add_residual<T, size, group>(task, row);
        x = task.sum + row * task.width;  // each thread reads back what it wrote itself
    }
    const auto width = static_cast<Compute>(task.width);
    Compute mean = 0, squares = 0;
    if (task.centred) {
        walk_row<T, size, group>(x, task.width, [&](int, const auto& values) {
#pragma unroll
            for (int k = 0; k < size; ++k) mean += values.value[k];
        });
        mean = group_sum<group>(mean) / width;
    }
    // The mean is subtracted before squaring: E[x²] − mean² would cancel where the mean is large.
    walk_row<T, size, group>(x, task.width, [&](int, const auto& values) {
#pragma unroll
        for (int k = 0; k < size; ++k) squares += (values.value[k] - mean) * (values.value[k] - mean);
    });
    const Compute rstd = Compute(1) / ::sqrt(group_sum<group>(squares) / width + task.eps);
    walk_row<T, size, group>(x, task.width, [&](int column, const auto& values) {
        const auto weight = load_weight<size>(task.weight, column, task.weight_offset);
        const auto bias = load_or<size>(task.bias, column, Compute(0));
        Pack<T, size> out;
#pragma unroll
        for (int k = 0; k < size; ++k)
            out.value[k] = convert_to<T>((values.value[k] - mean) * rstd * weight.value[k] + bias.value[k]);
        *reinterpret_cast<Pack<T, size>*>(task.out + row * task.width + column) = out;
    });
    if (threadIdx.x % group != 0) return;
    task.rstd[row] = rstd;
    if (task.centred) task.mean[row] = mean;
}

template <class T>
void run_forward(const char* name, const NormForward& views, bool centred) {
    using Compute = compute_t<T>;
    const DenseRows x(views.x), residual(views.residual), weight(views.weight), bias(views.bias);
    const ForwardTask<T> task{.x = x.as<T>(),
                              .residual = residual.as<T>(),
                              .weight = weight.as<T>(),
                              .bias = bias.as<T>(),
                              .x_stride = x.stride(),
                              .residual_stride = residual.stride(),
                              .out = views.out.as<T>(),
                              .sum = views.sum.as<T>(),
                              .mean = views.mean.as<Compute>(),
                              .rstd = views.rstd.as<Compute>(),
                              .rows = views.x.rows(),
                              .width = static_cast<int>(views.x.row_length()),
                              .weight_offset = static_cast<Compute>(views.weight_offset),
                              .eps = static_cast<Compute>(views.eps),
                              .centred = centred};
    const bool packs = rows_pack<T>(task.width, {task.x_stride, task.residual_stride},
                                    {task.x, task.residual, task.weight, task.bias, task.out, task.sum});
    choose_row_kernel<T>(packs, task.width, [&]<int size, int group>(RowKernel<size, group>) {
        const unsigned blocks = ceil_divide(task.rows, norm_threads / group);
        norm_kernel<T, size, group><<<blocks, norm_threads, 0, stream_of(views.x.device.index)>>>(task);
    });
    check_launch(name);
}

void forward(const char* name, const NormForward& views, bool centred) {
    check_contiguous(name, {&views.out, &views.sum, &views.mean, &views.rstd});
    if (views.x.elements() == 0) return;
    visit_float(views.x.dtype, name, [&]<class T>(Type<T>) { run_forward<T>(name, views, centred); });
}

void layer_norm_on_cuda(const NormForward& views) { forward("layer_norm", views, true); }
void rms_norm_on_cuda(const NormForward& views) { forward("rms_norm", views, false); }

const RegisterKernel register_layer_norm{kernels::layer_norm, DeviceKind::CUDA, layer_norm_on_cuda};
const RegisterKernel register_rms_norm{kernels::rms_norm, DeviceKind::CUDA, rms_norm_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
