// Softmax and log-softmax, forward and backward. A warp takes a narrow row, a block a wide one. Forward reads a row
// twice: once for the largest value and the sum, once to write. Rows may be replaced in place.
#include "tessera/kernels/softmax.h"

#include "tessera/kernels/cuda/softmax_rows.h"

namespace tessera::kernels::cuda {
namespace {

// How much of each row counts. Rows of lengths need not follow each other in memory.
struct RowLengths {
    const std::int64_t* data;  // null: whole rows
    std::int64_t per_line, stride;

    __device__ int of(std::int64_t row, int width) const {
        if (data == nullptr) return width;
        const std::int64_t length = data[row / per_line * stride + row % per_line];
        return static_cast<int>(::max(std::int64_t{0}, ::min(length, std::int64_t{width})));
    }
};

template <class T>
struct ForwardTask {
    const T* x;
    std::int64_t x_stride;
    RowLengths lengths;
    T* out;
    std::int64_t rows;
    int width;
    bool logarithm;
};

template <class T, int size, int group>
__global__ void __launch_bounds__(norm_threads) softmax_kernel(const __grid_constant__ ForwardTask<T> task) {
    using Compute = compute_t<T>;
    const std::int64_t row = std::int64_t{blockIdx.x} * (norm_threads / group) + threadIdx.x / group;
    if (row >= task.rows) return;  // a whole group leaves together
    const T* x = task.x + row * task.x_stride;
    T* out = task.out + row * task.width;
    const int length = task.lengths.of(row, task.width);
    const auto load = [&](int column) { return load_row_pack<size>(x + column); };
    const RowTotal<Compute> all = row_total<size, group, Compute>(length, load);
    const Compute shift = shift_of(all.largest);
    const Compute factor = all.total == 0 ? Compute(0) : 1 / all.total;
    const Compute log_total = all.total == 0 ? Compute(0) : ::log(all.total);
    for (int column = threadIdx.x % group * size; column < task.width; column += group * size) {
        const auto values = load(column);
        Pack<T, size> result;
#pragma unroll
        for (int k = 0; k < size; ++k) {
            const Compute below = values.value[k] - shift;
            const Compute value = task.logarithm ? below - log_total : ::exp(below) * factor;
            result.value[k] = convert_to<T>(column + k < length ? value : Compute(0));
        }
        *reinterpret_cast<Pack<T, size>*>(out + column) = result;
    }
}

template <class T>
struct BackwardTask {
    const T *y, *dy;
    std::int64_t y_stride, dy_stride;
    RowLengths lengths;
    T* dx;
    std::int64_t rows;
    int width;
    bool logarithm;
};

template <class T, int size, int group>
__global__ void __launch_bounds__(norm_threads) softmax_backward_kernel(const __grid_constant__ BackwardTask<T> task) {
    using Compute = compute_t<T>;
    const std::int64_t row = std::int64_t{blockIdx.x} * (norm_threads / group) + threadIdx.x / group;
    if (row >= task.rows) return;  // a whole group leaves together
    const T *y = task.y + row * task.y_stride, *dy = task.dy + row * task.dy_stride;
    T* dx = task.dx + row * task.width;
    const int length = task.lengths.of(row, task.width);
    Compute sum = 0;
    for (int column = threadIdx.x % group * size; column < length; column += group * size) {
        const auto result = load_row_pack<size>(y + column), gradient = load_row_pack<size>(dy + column);
#pragma unroll
        for (int k = 0; k < size; ++k)
            if (column + k < length) sum += task.logarithm ? gradient.value[k] : result.value[k] * gradient.value[k];
    }
    sum = group_sum<group>(sum);
    for (int column = threadIdx.x % group * size; column < task.width; column += group * size) {
        const auto result = load_row_pack<size>(y + column), gradient = load_row_pack<size>(dy + column);
        Pack<T, size> out;
#pragma unroll
        for (int k = 0; k < size; ++k) {
            const Compute value = task.logarithm ? gradient.value[k] - ::exp(result.value[k]) * sum
                                                 : result.value[k] * (gradient.value[k] - sum);
            out.value[k] = convert_to<T>(column + k < length ? value : Compute(0));
        }
        *reinterpret_cast<Pack<T, size>*>(dx + column) = out;
    }
}

int width_of(const char* name, const View& rows) {
    check(rows.row_length() < std::int64_t{1} << 30, name, ": rows of ", rows.row_length(), " values are too long");
    return static_cast<int>(rows.row_length());
}

void forward(const char* name, const View& x, const View& lengths, const View& out, bool logarithm) {
    check_contiguous(name, {&out});
    if (x.elements() == 0) return;
    const int width = width_of(name, x);
    const DenseRows rows(x), row_lengths(lengths);
    visit_float(x.dtype, name, [&]<class T>(Type<T>) {
        const ForwardTask<T> task{
            .x = rows.as<T>(),
            .x_stride = rows.stride(),
            .lengths = {row_lengths.as<std::int64_t>(), lengths.row_length(), row_lengths.stride()},
            .out = out.as<T>(),
            .rows = x.rows(),
            .width = width,
            .logarithm = logarithm};
        const bool packs = rows_pack<T>(width, {task.x_stride}, {task.x, task.out});
        choose_row_kernel<T>(packs, width, [&]<int size, int group>(RowKernel<size, group>) {
            softmax_kernel<T, size, group>
                <<<ceil_divide(task.rows, norm_threads / group), norm_threads, 0, stream_of(x.device.index)>>>(task);
        });
        check_launch(name);
    });
}

void backward(const char* name, const View& y, const View& lengths, const View& dy, const View& dx, bool logarithm) {
    check_contiguous(name, {&dx});
    if (y.elements() == 0) return;
    const int width = width_of(name, y);
    const DenseRows results(y), gradients(dy), row_lengths(lengths);
    visit_float(y.dtype, name, [&]<class T>(Type<T>) {
        const BackwardTask<T> task{
            .y = results.as<T>(),
            .dy = gradients.as<T>(),
            .y_stride = results.stride(),
            .dy_stride = gradients.stride(),
            .lengths = {row_lengths.as<std::int64_t>(), lengths.row_length(), row_lengths.stride()},
            .dx = dx.as<T>(),
            .rows = y.rows(),
            .width = width,
            .logarithm = logarithm};
        const bool packs = rows_pack<T>(width, {task.y_stride, task.dy_stride}, {task.y, task.dy, task.dx});
        choose_row_kernel<T>(packs, width, [&]<int size, int group>(RowKernel<size, group>) {
            softmax_backward_kernel<T, size, group>
                <<<ceil_divide(task.rows, norm_threads / group), norm_threads, 0, stream_of(y.device.index)>>>(task);
        });
        check_launch(name);
    });
}

void softmax_on_cuda(const View& x, const View& lengths, const View& out) {
    forward("softmax", x, lengths, out, false);
}
void softmax_backward_on_cuda(const View& y, const View& lengths, const View& dy, const View& dx) {
    backward("softmax_backward", y, lengths, dy, dx, false);
}
void log_softmax_on_cuda(const View& x, const View& out) { forward("log_softmax", x, {}, out, true); }
void log_softmax_backward_on_cuda(const View& y, const View& dy, const View& dx) {
    backward("log_softmax_backward", y, {}, dy, dx, true);
}

const RegisterKernel register_softmax{kernels::softmax, DeviceKind::CUDA, softmax_on_cuda};
const RegisterKernel register_softmax_backward{kernels::softmax_backward, DeviceKind::CUDA, softmax_backward_on_cuda};
const RegisterKernel register_log_softmax{kernels::log_softmax, DeviceKind::CUDA, log_softmax_on_cuda};
const RegisterKernel register_log_softmax_backward{kernels::log_softmax_backward, DeviceKind::CUDA,
                                                   log_softmax_backward_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
