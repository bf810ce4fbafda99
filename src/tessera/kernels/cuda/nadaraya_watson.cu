// Nadaraya–Watson weights and their gradients. A block takes a row of weights, its warps a key each; backward first
// finds how strongly each pair pulls, then adds up the pulls once per query and once per key.
#include "tessera/kernels/nadaraya_watson.h"

#include "tessera/kernels/cuda/softmax_rows.h"
#include "tessera/kernels/memory.h"

namespace tessera::kernels::cuda {
namespace {

using kernels::NadarayaWatson;
using kernels::PoolingKernel;

constexpr int threads = 256;

template <class T>
struct Task {
    PoolingKernel kernel;
    T reach;
    const T *queries, *keys;
    T* weights;
    std::int64_t batches, query_count, key_count, width;

    explicit Task(const NadarayaWatson& pooling)
        : kernel(pooling.kernel),
          reach(static_cast<T>(pooling.width)),
          queries(pooling.queries.as<const T>()),
          keys(pooling.keys.as<const T>()),
          weights(pooling.weights.as<T>()),
          batches(pooling.queries.size(0)),
          query_count(pooling.queries.size(1)),
          key_count(pooling.keys.size(1)),
          width(pooling.queries.size(2)) {
        check(key_count < std::int64_t{1} << 30 && batches * std::max(query_count, key_count) < std::int64_t{1} << 31,
              "nadaraya_watson: queries ", pooling.queries.shape, " and keys ", pooling.keys.shape, " are too large");
    }
};

// ‖query − key‖² for every thread of the calling warp.
template <class T>
__device__ T squared_distance(const T* query, const T* key, std::int64_t width) {
    T sum = 0;
    for (std::int64_t i = threadIdx.x % warp_size; i < width; i += warp_size)
        sum += (query[i] - key[i]) * (query[i] - key[i]);
    return warp_sum(sum);
}

// Calls body(key, ‖query − key‖²) once for each key of a row, by one thread of the block.
template <class T, class Body>
__device__ void for_each_key(const Task<T>& task, std::int64_t row, Body&& body) {
    const T* query = task.queries + row * task.width;
    const T* keys = task.keys + row / task.query_count * task.key_count * task.width;
    for (std::int64_t k = threadIdx.x / warp_size; k < task.key_count; k += threads / warp_size) {
        const T square = squared_distance(query, keys + k * task.width, task.width);
        if (threadIdx.x % warp_size == 0) body(k, square);
    }
}

// Before weights are normalised; of the gaussian, its logarithm.
template <class T>
__device__ T kernel_value(const Task<T>& task, T square) {
    switch (task.kernel) {
        case PoolingKernel::Gaussian: return -square / (2 * task.reach * task.reach);
        case PoolingKernel::Boxcar: return ::sqrt(square) <= task.reach ? T(1) : T(0);
        default: return ::max(T(0), 1 - ::sqrt(square) / task.reach);
    }
}

template <class T>
__global__ void __launch_bounds__(threads) weights_kernel(const __grid_constant__ Task<T> task) {
    T* weights = task.weights + blockIdx.x * task.key_count;
    for_each_key(task, blockIdx.x, [&](std::int64_t k, T square) { weights[k] = kernel_value(task, square); });
    __syncthreads();  // the values of all warps are there
    const auto count = static_cast<int>(task.key_count);
    if (task.kernel == PoolingKernel::Gaussian) {
        const RowTotal<T> all = row_total<1, threads, T>(count, [&](int k) { return Values<T, 1>{{weights[k]}}; });
        for (int k = threadIdx.x; k < count; k += threads)
            weights[k] = ::exp(weights[k] - shift_of(all.largest)) / all.total;
        return;
    }
    T sum = 0;
    for (int k = threadIdx.x; k < count; k += threads) sum += weights[k];
    sum = group_sum<threads>(sum);
    const T factor = sum != 0 ? 1 / sum : T(0);
    for (int k = threadIdx.x; k < count; k += threads) weights[k] *= factor;
}

// pulls (B, Q, K): the factor by which q − k enters the gradient of q; that of k gets the same with the other sign.
template <class T>
__global__ void __launch_bounds__(threads)
    pull_kernel(const __grid_constant__ Task<T> task, const T* weights_gradient, T* pulls) {
    const std::int64_t home = blockIdx.x * task.key_count;
    const T *weights = task.weights + home, *gradient = weights_gradient + home;
    T* out = pulls + home;
    T mean = 0;
    for (std::int64_t k = threadIdx.x; k < task.key_count; k += threads) mean += weights[k] * gradient[k];
    mean = group_sum<threads>(mean);
    if (task.kernel == PoolingKernel::Gaussian) {
        for (std::int64_t k = threadIdx.x; k < task.key_count; k += threads)
            out[k] = -weights[k] * (gradient[k] - mean) / (task.reach * task.reach);
        return;
    }
    T sum = 0;
    for_each_key(task, blockIdx.x, [&](std::int64_t k, T square) {
        const T value = kernel_value(task, square), distance = ::sqrt(square);
        sum += value;
        const bool flat = value == 0 || distance == 0;  // beyond reach, or at the tip
        out[k] = flat ? T(0) : -(gradient[k] - mean) / (task.reach * distance);
    });
    sum = group_sum<threads>(sum);  // a barrier too: the pulls of all warps are there
    for (std::int64_t k = threadIdx.x; k < task.key_count; k += threads)
        if (out[k] != 0) out[k] /= sum;
}

// gradient of row i = Σ_j pull(i, j) · (own(i) − other(j)), where the pulls of j lie `step` apart.
template <class T>
struct Side {
    const T *own, *others;
    std::int64_t own_count, other_count, width;
    std::int64_t pull_stride, step;  // from one own row to the next, and from one other row to the next
    T* gradient;
};

template <class T>
__global__ void __launch_bounds__(threads) side_kernel(const __grid_constant__ Side<T> side, const T* pulls) {
    const std::int64_t batch = blockIdx.x / side.own_count, i = blockIdx.x % side.own_count;
    const T* own = side.own + blockIdx.x * side.width;
    const T* others = side.others + batch * side.other_count * side.width;
    const T* pull = pulls + batch * side.own_count * side.other_count + i * side.pull_stride;
    for (std::int64_t d = threadIdx.x; d < side.width; d += threads) {
        T sum = 0;
        for (std::int64_t j = 0; j < side.other_count; ++j)
            sum += pull[j * side.step] * (own[d] - others[j * side.width + d]);
        side.gradient[blockIdx.x * side.width + d] = sum;
    }
}

template <class T>
void forward(const NadarayaWatson& pooling) {
    const Task<T> task(pooling);
    if (pooling.weights.elements() == 0) return;
    weights_kernel<T><<<static_cast<unsigned>(task.batches * task.query_count), threads, 0,
                        stream_of(pooling.weights.device.index)>>>(task);
    check_launch("nadaraya_watson");
}

template <class T>
void backward(const NadarayaWatson& pooling, const View& weights_gradient, const View& queries_gradient,
              const View& keys_gradient) {
    const char* name = "nadaraya_watson_backward";
    const Task<T> task(pooling);
    const Device device = pooling.weights.device;
    if (pooling.kernel == PoolingKernel::Boxcar || pooling.weights.elements() == 0) {
        kernels::fill.on(device)(0, queries_gradient);
        kernels::fill.on(device)(0, keys_gradient);
        return;
    }
    const cudaStream_t stream = stream_of(device.index);
    const auto rows = static_cast<unsigned>(task.batches * task.query_count);
    const Workspace<T> pulls(device, pooling.weights.elements());
    pull_kernel<T><<<rows, threads, 0, stream>>>(task, weights_gradient.as<const T>(), pulls.data());
    check_launch(name);
    const Side<T> queries{task.queries,   task.keys, task.query_count,        task.key_count, task.width,
                          task.key_count, 1,         queries_gradient.as<T>()};
    side_kernel<T><<<rows, threads, 0, stream>>>(queries, pulls.data());
    check_launch(name);
    const Side<T> keys{task.keys, task.queries,   task.key_count,       task.query_count, task.width,
                       1,         task.key_count, keys_gradient.as<T>()};
    side_kernel<T><<<static_cast<unsigned>(task.batches * task.key_count), threads, 0, stream>>>(keys, pulls.data());
    check_launch(name);
}

void check_dtype(DType dtype) {
    check(dtype == DType::F32 || dtype == DType::F64, "nadaraya_watson: needs f32 or f64, not ", dtype);
}

void nadaraya_watson_on_cuda(const NadarayaWatson& pooling) {
    check_dtype(pooling.weights.dtype);
    pooling.weights.dtype == DType::F32 ? forward<float>(pooling) : forward<double>(pooling);
}

void nadaraya_watson_backward_on_cuda(const NadarayaWatson& pooling, const View& weights_gradient,
                                      const View& queries_gradient, const View& keys_gradient) {
    check_dtype(pooling.weights.dtype);
    if (pooling.weights.dtype == DType::F32)
        backward<float>(pooling, weights_gradient, queries_gradient, keys_gradient);
    else
        backward<double>(pooling, weights_gradient, queries_gradient, keys_gradient);
}

const RegisterKernel register_forward{kernels::nadaraya_watson, DeviceKind::CUDA, nadaraya_watson_on_cuda};
const RegisterKernel register_backward{kernels::nadaraya_watson_backward, DeviceKind::CUDA,
                                       nadaraya_watson_backward_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
