// Gradients of layer norm and RMS norm. With x̂ = (x − mean) · rstd and g = dout · (weight + offset),
//     dx = rstd · (g − mean(g) − x̂ · mean(g · x̂))      (RMS norm has no mean(g))
//     dweight = Σ rows dout · x̂,   dbias = Σ rows dout
// A block takes a run of rows and keeps its column sums in shared memory, where each thread owns its columns; a second
// kernel adds the blocks' sums in order. How rows are cut depends on the shape alone.
#include <algorithm>

#include "tessera/kernels/cuda/norm_rows.h"
#include "tessera/kernels/cuda/workspace.h"

namespace tessera::kernels::cuda {
namespace {

constexpr std::size_t most_shared_bytes = 200 << 10;  // of the 227 KiB a Hopper block may have

template <class T>
struct BackwardTask {
    using Compute = compute_t<T>;
    const T *x, *weight, *dout, *sum_gradient;  // null where absent
    std::int64_t x_stride, dout_stride, sum_stride;
    const Compute *mean, *rstd;
    T* dx;  // or null
    std::int64_t rows;
    int width;
    Compute weight_offset;
    std::int64_t rows_per_block = 0;
    Compute *dweight = nullptr, *dbias = nullptr;  // (blocks, width) of column sums each, or null
    Compute* scratch = nullptr;                    // for rows so wide that their sums do not fit into shared memory
};

// Column sums of one group of threads. Value k of pack p lies at k · packs + p: neighbouring threads then touch
// neighbouring words.
template <class Compute, int size>
struct ColumnSums {
    Compute* sums;  // or null
    int packs;

    __device__ void add(int column, int k, Compute value) const {
        if (sums != nullptr) sums[k * packs + column / size] += value;
    }
};

template <class T, int size, int group>
__device__ void row_backward(const BackwardTask<T>& task, std::int64_t row, ColumnSums<compute_t<T>, size> dweight,
                             ColumnSums<compute_t<T>, size> dbias) {
    using Compute = compute_t<T>;
    const T *x = task.x + row * task.x_stride, *dout = task.dout + row * task.dout_stride;
    const Compute rstd = task.rstd[row], mean = task.mean != nullptr ? task.mean[row] : Compute(0);
    Compute g_sum = 0, gx_sum = 0;
    for (int column = threadIdx.x % group * size; column < task.width; column += group * size) {
        const auto value = load_row_pack<size>(x + column), gradient = load_row_pack<size>(dout + column);
        const auto weight = load_weight<size>(task.weight, column, task.weight_offset);
#pragma unroll
        for (int k = 0; k < size; ++k) {
            const Compute normed = (value.value[k] - mean) * rstd, g = gradient.value[k] * weight.value[k];
            g_sum += g;
            gx_sum += g * normed;
            dweight.add(column, k, gradient.value[k] * normed);
            dbias.add(column, k, gradient.value[k]);
        }
    }
    if (task.dx == nullptr) return;
    const Compute gx_mean = group_sum<group>(gx_sum) / task.width;
    const Compute g_mean = task.mean != nullptr ? group_sum<group>(g_sum) / task.width : Compute(0);
    for (int column = threadIdx.x % group * size; column < task.width; column += group * size) {
        const auto value = load_row_pack<size>(x + column), gradient = load_row_pack<size>(dout + column);
        const auto weight = load_weight<size>(task.weight, column, task.weight_offset);
        const auto more = load_or<size>(
            task.sum_gradient != nullptr ? task.sum_gradient + row * task.sum_stride : nullptr, column, Compute(0));
        Pack<T, size> dx;
#pragma unroll
        for (int k = 0; k < size; ++k) {
            const Compute normed = (value.value[k] - mean) * rstd, g = gradient.value[k] * weight.value[k];
            dx.value[k] = convert_to<T>(rstd * (g - g_mean - normed * gx_mean) + more.value[k]);
        }
        *reinterpret_cast<Pack<T, size>*>(task.dx + row * task.width + column) = dx;
    }
}

// The groups' sums of one block, added up and put into the columns' order.
template <class Compute, int size, int groups>
__device__ void store_column_sums(const Compute* sums, Compute* out, int width) {
    const int packs = width / size;
    for (int i = threadIdx.x; i < width; i += norm_threads) {
        Compute total = sums[i];
        for (int other = 1; other < groups; ++other) total += sums[other * width + i];
        out[i % packs * size + i / packs] = total;
    }
}

template <class T, int size, int group>
__global__ void __launch_bounds__(norm_threads) norm_backward_kernel(const __grid_constant__ BackwardTask<T> task) {
    using Compute = compute_t<T>;
    constexpr int groups = norm_threads / group;
    extern __shared__ char shared[];
    const int vectors = (task.dweight != nullptr) + (task.dbias != nullptr);
    const std::int64_t sums_size = std::int64_t{vectors} * groups * task.width;
    Compute* sums =
        task.scratch != nullptr ? task.scratch + blockIdx.x * sums_size : reinterpret_cast<Compute*>(shared);
    for (std::int64_t i = threadIdx.x; i < sums_size; i += norm_threads) sums[i] = 0;
    __syncthreads();
    Compute* dweight = task.dweight != nullptr ? sums : nullptr;
    Compute* dbias = task.dbias != nullptr ? sums + std::int64_t{vectors - 1} * groups * task.width : nullptr;
    const int mine = threadIdx.x / group;
    const auto own = [&](Compute* all) {
        return ColumnSums<Compute, size>{all != nullptr ? all + std::int64_t{mine} * task.width : nullptr,
                                         task.width / size};
    };
    const std::int64_t begin = blockIdx.x * task.rows_per_block, end = ::min(task.rows, begin + task.rows_per_block);
    for (std::int64_t row = begin + mine; row < end; row += groups)
        row_backward<T, size, group>(task, row, own(dweight), own(dbias));
    __syncthreads();
    const std::int64_t home = std::int64_t{blockIdx.x} * task.width;
    if (dweight != nullptr) store_column_sums<Compute, size, groups>(dweight, task.dweight + home, task.width);
    if (dbias != nullptr) store_column_sums<Compute, size, groups>(dbias, task.dbias + home, task.width);
}

// Adds up the blocks' sums of each column: 32 columns side by side, 8 threads to a column.
template <class T>
__global__ void __launch_bounds__(norm_threads)
    add_blocks_kernel(const compute_t<T>* partial, T* out, std::int64_t blocks, int width) {
    constexpr int lines = norm_threads / warp_size;
    __shared__ double sums[lines][warp_size];
    const int lane = threadIdx.x % warp_size, line = threadIdx.x / warp_size;
    const int column = blockIdx.x * warp_size + lane;
    double sum = 0;
    for (std::int64_t i = line; i < blocks && column < width; i += lines) sum += partial[i * width + column];
    sums[line][lane] = sum;
    __syncthreads();
    if (line != 0 || column >= width) return;
    for (int i = 1; i < lines; ++i) sum += sums[i][lane];
    out[column] = convert_to<T>(sum);
}

// The operands with dense rows.
struct Operands {
    DenseRows x, weight, dout, sum_gradient;

    explicit Operands(const NormBackward& views)
        : x(views.x), weight(views.weight), dout(views.dout), sum_gradient(views.sum_gradient) {}
};

template <class T>
BackwardTask<T> task_of(const NormBackward& views, const Operands& operands) {
    using Compute = compute_t<T>;
    return {.x = operands.x.as<T>(),
            .weight = operands.weight.as<T>(),
            .dout = operands.dout.as<T>(),
            .sum_gradient = operands.sum_gradient.as<T>(),
            .x_stride = operands.x.stride(),
            .dout_stride = operands.dout.stride(),
            .sum_stride = operands.sum_gradient.stride(),
            .mean = views.mean.as<Compute>(),
            .rstd = views.rstd.as<Compute>(),
            .dx = views.dx.as<T>(),
            .rows = views.x.rows(),
            .width = static_cast<int>(views.x.row_length()),
            .weight_offset = static_cast<Compute>(views.weight_offset)};
}

template <class T, int size, int group>
void launch_backward(const char* name, const NormBackward& views, BackwardTask<T> task) {
    using Compute = compute_t<T>;
    constexpr std::int64_t most_blocks = 528, least_rows = 4;
    constexpr int groups = norm_threads / group;
    const Device device = views.x.device;
    const cudaStream_t stream = stream_of(device.index);
    const std::int64_t width = task.width;
    task.rows_per_block = std::max(least_rows * groups, (task.rows + most_blocks - 1) / most_blocks);
    const unsigned blocks = ceil_divide(task.rows, task.rows_per_block);

    const Workspace<Compute> dweight(device, views.dweight.defined() ? blocks * width : 0);
    const Workspace<Compute> dbias(device, views.dbias.defined() ? blocks * width : 0);
    const std::int64_t sums = (views.dweight.defined() + views.dbias.defined()) * groups * width;
    const std::size_t sums_bytes = sizeof(Compute) * static_cast<std::size_t>(sums);
    const bool fits = sums_bytes <= most_shared_bytes;
    const Workspace<Compute> scratch(device, fits ? 0 : blocks * sums);
    task.dweight = dweight.data();
    task.dbias = dbias.data();
    task.scratch = scratch.data();

    const auto kernel = norm_backward_kernel<T, size, group>;
    check_cuda(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most_shared_bytes)),
        "cudaFuncSetAttribute");
    kernel<<<blocks, norm_threads, fits ? sums_bytes : 0, stream>>>(task);
    check_launch(name);
    const auto add_blocks = [&](const Workspace<Compute>& partial, const View& out) {
        if (!out.defined()) return;
        add_blocks_kernel<T><<<ceil_divide(width, warp_size), norm_threads, 0, stream>>>(partial.data(), out.as<T>(),
                                                                                         blocks, task.width);
        check_launch(name);
    };
    add_blocks(dweight, views.dweight);
    add_blocks(dbias, views.dbias);
}

template <class T>
void run_backward(const char* name, const NormBackward& views) {
    const Operands operands(views);
    const BackwardTask<T> task = task_of<T>(views, operands);
    const bool packs = rows_pack<T>(task.width, {task.x_stride, task.dout_stride, task.sum_stride},
                                    {task.x, task.weight, task.dout, task.sum_gradient, task.dx});
    choose_row_kernel<T>(packs, task.width, [&]<int size, int group>(RowKernel<size, group>) {
        launch_backward<T, size, group>(name, views, task);
    });
}

void backward(const char* name, const NormBackward& views) {
    check_contiguous(name, {&views.mean, &views.rstd, &views.dx, &views.dweight, &views.dbias});
    if (views.x.elements() != 0)
        return visit_float(views.x.dtype, name, [&]<class T>(Type<T>) { run_backward<T>(name, views); });
    if (views.dweight.defined()) kernels::fill.on(views.dweight.device)(0, views.dweight);
    if (views.dbias.defined()) kernels::fill.on(views.dbias.device)(0, views.dbias);
}

void layer_norm_backward_on_cuda(const NormBackward& views) { backward("layer_norm_backward", views); }
void rms_norm_backward_on_cuda(const NormBackward& views) { backward("rms_norm_backward", views); }

const RegisterKernel register_layer_norm{kernels::layer_norm_backward, DeviceKind::CUDA, layer_norm_backward_on_cuda};
const RegisterKernel register_rms_norm{kernels::rms_norm_backward, DeviceKind::CUDA, rms_norm_backward_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
