// Optimizer steps over flat buffers, an element per thread.
#include "tessera/kernels/optimizer.h"

#include <algorithm>
#include <cmath>

#include "tessera/kernels/cuda/block_sum.h"
#include "tessera/kernels/cuda/rounded.h"
#include "tessera/kernels/cuda/stream.h"
#include "tessera/kernels/cuda/workspace.h"
#include "tessera/kernels/memory.h"

namespace tessera::kernels::cuda {
namespace {

constexpr int threads = 256;

template <class T>
struct SgdTask {
    T *values, *momentum;
    const T* gradients;
    Rounded rounded;
    std::int64_t count;
    T learning_rate, momentum_factor, weight_decay;
    bool nesterov, first;
};

template <class T>
__global__ void sgd_kernel(const __grid_constant__ SgdTask<T> task) {
    const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
    if (i >= task.count) return;
    const T value = task.values[i], gradient = task.gradients[i] + task.weight_decay * value;
    T direction = gradient;
    if (task.momentum != nullptr) {
        if (!task.first) direction = task.momentum_factor * task.momentum[i] + gradient;
        task.momentum[i] = direction;
        if (task.nesterov) direction = task.momentum_factor * direction + gradient;
    }
    const T stepped = value - task.learning_rate * direction;
    task.values[i] = stepped;
    task.rounded.store(i, stepped);
}

void sgd_on_cuda(const kernels::SgdStep& step, const kernels::SgdBuffers& buffers) {
    const std::int64_t count = buffers.values.elements();
    if (count == 0) return;
    visit_state("sgd", buffers.values.dtype, [&]<class T>(Type<T>) {
        const SgdTask<T> task{.values = buffers.values.as<T>(),
                              .momentum = buffers.momentum.as<T>(),
                              .gradients = buffers.gradients.as<const T>(),
                              .rounded = Rounded(buffers.rounded),
                              .count = count,
                              .learning_rate = static_cast<T>(step.learning_rate),
                              .momentum_factor = static_cast<T>(step.momentum),
                              .weight_decay = static_cast<T>(step.weight_decay),
                              .nesterov = step.nesterov,
                              .first = step.first};
        sgd_kernel<<<ceil_divide(count, threads), threads, 0, stream_of(buffers.values.device.index)>>>(task);
        check_launch("sgd");
    });
}

template <class T>
struct AdamWTask {
    T *values, *first_moment, *second_moment;
    const T* gradients;
    Rounded rounded;
    std::int64_t count;
    T keep;                        // 1 − lr·weight_decay
    T beta1, beta2, rest1, rest2;  // rest = 1 − beta
    T step_size;                   // lr / (1 − beta1^t)
    T correction;                  // 1 / √(1 − beta2^t)
    T epsilon;
};

template <class T>
__global__ void adamw_kernel(const __grid_constant__ AdamWTask<T> task) {
    const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
    if (i >= task.count) return;
    const T gradient = task.gradients[i];
    const T first = task.beta1 * task.first_moment[i] + task.rest1 * gradient;
    const T second = task.beta2 * task.second_moment[i] + task.rest2 * gradient * gradient;
    task.first_moment[i] = first;
    task.second_moment[i] = second;
    const T root = std::sqrt(second) * task.correction + task.epsilon;
    const T value = task.values[i] * task.keep - task.step_size * (first / root);
    task.values[i] = value;
    task.rounded.store(i, value);
}

void adamw_on_cuda(const kernels::AdamWStep& step, const kernels::AdamWBuffers& buffers) {
    const std::int64_t count = buffers.values.elements();
    if (count == 0) return;
    const auto number = static_cast<double>(step.number);
    visit_state("adamw", buffers.values.dtype, [&]<class T>(Type<T>) {
        const AdamWTask<T> task{.values = buffers.values.as<T>(),
                                .first_moment = buffers.first_moment.as<T>(),
                                .second_moment = buffers.second_moment.as<T>(),
                                .gradients = buffers.gradients.as<const T>(),
                                .rounded = Rounded(buffers.rounded),
                                .count = count,
                                .keep = static_cast<T>(1 - step.learning_rate * step.weight_decay),
                                .beta1 = static_cast<T>(step.beta1),
                                .beta2 = static_cast<T>(step.beta2),
                                .rest1 = static_cast<T>(1 - step.beta1),
                                .rest2 = static_cast<T>(1 - step.beta2),
                                .step_size = static_cast<T>(step.learning_rate / (1 - std::pow(step.beta1, number))),
                                .correction = static_cast<T>(1 / std::sqrt(1 - std::pow(step.beta2, number))),
                                .epsilon = static_cast<T>(step.epsilon)};
        adamw_kernel<<<ceil_divide(count, threads), threads, 0, stream_of(buffers.values.device.index)>>>(task);
        check_launch("adamw");
    });
}

// Each block adds one part, cut by the length alone.
template <class T>
__global__ void __launch_bounds__(threads)
    squares_kernel(const T* x, std::int64_t count, std::int64_t chunk, double* parts) {
    const std::int64_t begin = blockIdx.x * chunk, end = ::min(count, begin + chunk);
    double sum = 0;
    for (std::int64_t i = begin + threadIdx.x; i < end; i += threads) {
        const auto value = static_cast<double>(x[i]);
        sum += value * value;
    }
    sum = group_sum<threads>(sum);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(threads) add_parts_kernel(const double* parts, int count, double* out) {
    double sum = 0;
    for (int i = threadIdx.x; i < count; i += threads) sum += parts[i];
    sum = group_sum<threads>(sum);
    if (threadIdx.x == 0) *out = sum;
}

void squared_norm_on_cuda(const View& x, const View& out) {
    constexpr std::int64_t most_parts = 1024, least_chunk = 4096;
    const std::int64_t count = x.elements();
    if (count == 0) return kernels::fill.on(out.device)(0, out);
    const std::int64_t chunk = std::max(least_chunk, (count + most_parts - 1) / most_parts);
    const unsigned parts = ceil_divide(count, chunk);
    const cudaStream_t stream = stream_of(x.device.index);
    const Workspace<double> sums(x.device, parts);
    visit_state("squared_norm", x.dtype, [&]<class T>(Type<T>) {
        squares_kernel<<<parts, threads, 0, stream>>>(x.as<const T>(), count, chunk, sums.data());
        check_launch("squared_norm");
    });
    add_parts_kernel<<<1, threads, 0, stream>>>(sums.data(), static_cast<int>(parts), out.as<double>());
    check_launch("squared_norm");
}

template <class T>
__global__ void scale_kernel(T* x, T factor, std::int64_t count) {
    const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
    if (i < count) x[i] *= factor;
}

void scale_in_place_on_cuda(double factor, const View& x) {
    const std::int64_t count = x.elements();
    if (count == 0) return;
    visit_state("scale_in_place", x.dtype, [&]<class T>(Type<T>) {
        scale_kernel<<<ceil_divide(count, threads), threads, 0, stream_of(x.device.index)>>>(
            x.as<T>(), static_cast<T>(factor), count);
        check_launch("scale_in_place");
    });
}

const RegisterKernel register_sgd{kernels::sgd, DeviceKind::CUDA, sgd_on_cuda};
const RegisterKernel register_adamw{kernels::adamw, DeviceKind::CUDA, adamw_on_cuda};
const RegisterKernel register_squared_norm{kernels::squared_norm, DeviceKind::CUDA, squared_norm_on_cuda};
const RegisterKernel register_scale_in_place{kernels::scale_in_place, DeviceKind::CUDA, scale_in_place_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
