// Adafactor over one parameter: its squares into the row and column means, the size of the update those means give, and
// the update itself, clipped by that size. The sizes stay on the device, and every sum has one order.
#include <algorithm>
#include <cmath>

#include "tessera/kernels/cuda/block_sum.h"
#include "tessera/kernels/cuda/rounded.h"
#include "tessera/kernels/cuda/stream.h"
#include "tessera/kernels/cuda/workspace.h"
#include "tessera/kernels/optimizer.h"

namespace tessera::kernels::cuda {
namespace {

using kernels::AdafactorBuffers;
using kernels::AdafactorStep;

constexpr int threads = 256;

// One parameter as a stack of matrices; a vector is one matrix of one row whose row factor is 1.
template <class T>
struct AdafactorTask {
    T *values, *row_moment, *column_moment, *second_moment, *first_moment;
    const T* gradients;
    Rounded rounded;
    std::int64_t stack, rows, columns;
    std::int64_t chunk, chunks;            // rows of a matrix, in parts
    double* column_parts;                  // (stack, chunks, columns)
    T *row_factor, *column_factor;         // (stack, rows), (stack, columns)
    double* row_squares;                   // (stack · rows) of the update
    double *update_size, *parameter_size;  // Σ of squares
    AdafactorStep step;

    __device__ T square(std::int64_t i) const {
        return gradients[i] * gradients[i] + static_cast<T>(step.epsilon_square);
    }
    __device__ T mix(T old, double fresh) const {
        return static_cast<T>(step.beta2) * old + static_cast<T>(1 - step.beta2) * static_cast<T>(fresh);
    }
};

template <class T>
__global__ void __launch_bounds__(threads) row_moment_kernel(const __grid_constant__ AdafactorTask<T> task) {
    const std::int64_t row = blockIdx.x;
    double sum = 0;
    for (std::int64_t i = threadIdx.x; i < task.columns; i += threads) sum += task.square(row * task.columns + i);
    sum = group_sum<threads>(sum);
    if (threadIdx.x == 0)
        task.row_moment[row] = task.mix(task.row_moment[row], sum / static_cast<double>(task.columns));
}

// A block per matrix.
template <class T>
__global__ void __launch_bounds__(threads) row_factor_kernel(const __grid_constant__ AdafactorTask<T> task) {
    const T* moment = task.row_moment + blockIdx.x * task.rows;
    double sum = 0;
    for (std::int64_t i = threadIdx.x; i < task.rows; i += threads) sum += moment[i];
    const double mean = group_sum<threads>(sum) / static_cast<double>(task.rows);
    for (std::int64_t i = threadIdx.x; i < task.rows; i += threads)
        task.row_factor[blockIdx.x * task.rows + i] = static_cast<T>(std::sqrt(mean / moment[i]));
}

// A thread per column and part of its rows.
template <class T>
__global__ void column_parts_kernel(const __grid_constant__ AdafactorTask<T> task) {
    const std::int64_t place = std::int64_t{blockIdx.x} * threads + threadIdx.x;
    if (place >= task.stack * task.columns) return;
    const std::int64_t matrix = place / task.columns, column = place % task.columns;
    const std::int64_t begin = blockIdx.y * task.chunk, end = ::min(task.rows, begin + task.chunk);
    double sum = 0;
    for (std::int64_t row = begin; row < end; ++row)
        sum += task.square((matrix * task.rows + row) * task.columns + column);
    task.column_parts[(matrix * task.chunks + blockIdx.y) * task.columns + column] = sum;
}

template <class T>
__global__ void column_moment_kernel(const __grid_constant__ AdafactorTask<T> task) {
    const std::int64_t place = std::int64_t{blockIdx.x} * threads + threadIdx.x;
    if (place >= task.stack * task.columns) return;
    const std::int64_t matrix = place / task.columns, column = place % task.columns;
    double sum = 0;
    for (std::int64_t part = 0; part < task.chunks; ++part)
        sum += task.column_parts[(matrix * task.chunks + part) * task.columns + column];
    const T moment = task.mix(task.column_moment[place], sum / static_cast<double>(task.rows));
    task.column_moment[place] = moment;
    task.column_factor[place] = 1 / std::sqrt(moment);
}

template <class T>
__global__ void second_moment_kernel(const __grid_constant__ AdafactorTask<T> task) {
    const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
    if (i >= task.columns) return;
    const T moment = task.mix(task.second_moment[i], task.square(i));
    task.second_moment[i] = moment;
    task.column_factor[i] = 1 / std::sqrt(moment);
    if (i == 0) task.row_factor[0] = 1;
}

template <class T>
__global__ void __launch_bounds__(threads) update_squares_kernel(const __grid_constant__ AdafactorTask<T> task) {
    const std::int64_t row = blockIdx.x;
    const T* gradients = task.gradients + row * task.columns;
    const T* factor = task.column_factor + row / task.rows * task.columns;
    double sum = 0;
    for (std::int64_t i = threadIdx.x; i < task.columns; i += threads) {
        const auto update = static_cast<double>(gradients[i] * factor[i]);
        sum += update * update;
    }
    sum = group_sum<threads>(sum);
    const double row_factor = task.row_factor[row];
    if (threadIdx.x == 0) task.row_squares[row] = sum * row_factor * row_factor;
}

template <class T>
__global__ void __launch_bounds__(threads) update_size_kernel(const __grid_constant__ AdafactorTask<T> task) {
    double sum = 0;
    for (std::int64_t i = threadIdx.x; i < task.stack * task.rows; i += threads) sum += task.row_squares[i];
    sum = group_sum<threads>(sum);
    if (threadIdx.x == 0) *task.update_size = sum;
}

template <class T>
__global__ void apply_kernel(const __grid_constant__ AdafactorTask<T> task) {
    const std::int64_t elements = task.stack * task.rows * task.columns;
    const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
    if (i >= elements) return;
    const AdafactorStep& step = task.step;
    const std::int64_t row = i / task.columns, column = i % task.columns, matrix = row / task.rows;
    const auto count = static_cast<double>(elements);
    const double clip = ::max(1.0, std::sqrt(*task.update_size / count) / step.clip_threshold);
    double learning_rate = step.learning_rate;
    if (step.scale_parameter) learning_rate *= ::max(step.epsilon_scale, std::sqrt(*task.parameter_size / count));
    const T factor = task.row_factor[row] * task.column_factor[matrix * task.columns + column];
    T update = task.gradients[i] * factor * static_cast<T>(learning_rate / clip);
    if (task.first_moment != nullptr) {
        update = static_cast<T>(step.beta1) * task.first_moment[i] + static_cast<T>(1 - step.beta1) * update;
        task.first_moment[i] = update;
    }
    const T value = task.values[i] * static_cast<T>(1 - learning_rate * step.weight_decay) - update;
    task.values[i] = value;
    task.rounded.store(i, value);
}

template <class T>
void update_moments(const AdafactorTask<T>& task, bool factored, cudaStream_t stream) {
    const unsigned column_blocks = ceil_divide(task.stack * task.columns, threads);
    if (!factored) {
        second_moment_kernel<<<column_blocks, threads, 0, stream>>>(task);
        return check_launch("adafactor");
    }
    row_moment_kernel<<<static_cast<unsigned>(task.stack * task.rows), threads, 0, stream>>>(task);
    row_factor_kernel<<<static_cast<unsigned>(task.stack), threads, 0, stream>>>(task);
    column_parts_kernel<<<dim3(column_blocks, static_cast<unsigned>(task.chunks)), threads, 0, stream>>>(task);
    column_moment_kernel<<<column_blocks, threads, 0, stream>>>(task);
    check_launch("adafactor");
}

template <class T>
void run(const AdafactorStep& step, const AdafactorBuffers& buffers) {
    constexpr std::int64_t least_chunk = 256, most_chunks = 1024;
    const View& values = buffers.values;
    const bool factored = values.rank() == 3;
    const std::int64_t stack = factored ? values.size(0) : 1, rows = factored ? values.size(1) : 1,
                       columns = values.size(-1);
    check(stack * rows < std::int64_t{1} << 31, "adafactor: ", values.shape, " has too many rows");
    const std::int64_t chunk = std::max(least_chunk, (rows + most_chunks - 1) / most_chunks),
                       chunks = (rows + chunk - 1) / chunk;
    const Device device = values.device;
    const Workspace<double> sums(device, stack * chunks * columns + stack * rows + 2);
    const Workspace<T> factors(device, stack * (rows + columns));
    double* const row_squares = sums.data() + stack * chunks * columns;
    double* const sizes = row_squares + stack * rows;
    const AdafactorTask<T> task{.values = values.as<T>(),
                                .row_moment = buffers.row_moment.as<T>(),
                                .column_moment = buffers.column_moment.as<T>(),
                                .second_moment = buffers.second_moment.as<T>(),
                                .first_moment = buffers.first_moment.as<T>(),
                                .gradients = buffers.gradients.as<const T>(),
                                .rounded = Rounded(buffers.rounded),
                                .stack = stack,
                                .rows = rows,
                                .columns = columns,
                                .chunk = chunk,
                                .chunks = chunks,
                                .column_parts = sums.data(),
                                .row_factor = factors.data(),
                                .column_factor = factors.data() + stack * rows,
                                .row_squares = row_squares,
                                .update_size = sizes,
                                .parameter_size = sizes + 1,
                                .step = step};
    const cudaStream_t stream = stream_of(device.index);
    update_moments(task, factored, stream);
    update_squares_kernel<<<static_cast<unsigned>(stack * rows), threads, 0, stream>>>(task);
    update_size_kernel<<<1, threads, 0, stream>>>(task);
    check_launch("adafactor");
    if (step.scale_parameter) kernels::squared_norm.on(device)(values, {sizes + 1, DType::F64, device, {}, {}});
    apply_kernel<<<ceil_divide(values.elements(), threads), threads, 0, stream>>>(task);
    check_launch("adafactor");
}

void adafactor_on_cuda(const AdafactorStep& step, const AdafactorBuffers& buffers) {
    if (buffers.values.elements() == 0) return;
    visit_state("adafactor", buffers.values.dtype, [&]<class T>(Type<T>) { run<T>(step, buffers); });
}

const RegisterKernel register_adafactor{kernels::adafactor, DeviceKind::CUDA, adafactor_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
