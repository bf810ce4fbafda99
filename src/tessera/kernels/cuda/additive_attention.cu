// Additive attention weights and their gradients. A block takes a row of weights, its warps a key each. Backward
// computes every tanh twice: a block of queries' threads runs along all keys and a block of keys' along all queries, so
// that each sum has one owner.
#include "tessera/kernels/additive_attention.h"

#include "tessera/kernels/cuda/softmax_rows.h"
#include "tessera/kernels/reduce.h"

namespace tessera::kernels::cuda {
namespace {

using kernels::AdditiveAttentionGradients;
using kernels::AdditiveAttentionViews;

constexpr int threads = 256;

template <class T>
struct Task {
    const T *query, *key, *w_v;
    const std::int64_t* lengths;  // or null
    T* weights;
    std::int64_t batches, queries, keys, width;

    explicit Task(const AdditiveAttentionViews& views)
        : query(views.query.as<const T>()),
          key(views.key.as<const T>()),
          w_v(views.w_v.as<const T>()),
          lengths(views.lengths.as<const std::int64_t>()),
          weights(views.weights.as<T>()),
          batches(views.query.size(0)),
          queries(views.query.size(1)),
          keys(views.key.size(1)),
          width(views.query.size(2)) {
        check(keys < std::int64_t{1} << 30 && batches * std::max(queries, keys) < std::int64_t{1} << 31,
              "additive_attention: query ", views.query.shape, " and key ", views.key.shape, " are too large");
    }

    __device__ int keys_of(std::int64_t batch) const {
        if (lengths == nullptr) return static_cast<int>(keys);
        return static_cast<int>(::max(std::int64_t{0}, ::min(lengths[batch], keys)));
    }
};

template <class T>
__global__ void __launch_bounds__(threads) weights_kernel(const __grid_constant__ Task<T> task) {
    const std::int64_t row = blockIdx.x, batch = row / task.queries;
    const int count = task.keys_of(batch), lane = threadIdx.x % warp_size;
    const T* query = task.query + row * task.width;
    T* weights = task.weights + row * task.keys;
    for (int k = threadIdx.x / warp_size; k < count; k += threads / warp_size) {
        const T* key = task.key + (batch * task.keys + k) * task.width;
        T sum = 0;
        for (std::int64_t i = lane; i < task.width; i += warp_size) sum += task.w_v[i] * ::tanh(query[i] + key[i]);
        sum = warp_sum(sum);
        if (lane == 0) weights[k] = sum;
    }
    __syncthreads();  // the scores of all warps are there
    const RowTotal<T> all = row_total<1, threads, T>(count, [&](int k) { return Values<T, 1>{{weights[k]}}; });
    for (std::int64_t k = threadIdx.x; k < task.keys; k += threads)
        weights[k] = k < count ? ::exp(weights[k] - shift_of(all.largest)) / all.total : T(0);
}

// The gradient of the scores behind a row of softmax weights.
template <class T>
__global__ void __launch_bounds__(threads)
    score_kernel(const __grid_constant__ Task<T> task, const T* weights_gradient, T* score_gradient) {
    const std::int64_t row = blockIdx.x, home = row * task.keys;
    const int count = task.keys_of(row / task.queries);
    T mean = 0;
    for (int k = threadIdx.x; k < count; k += threads) mean += task.weights[home + k] * weights_gradient[home + k];
    mean = group_sum<threads>(mean);
    for (int k = threadIdx.x; k < count; k += threads)
        score_gradient[home + k] = task.weights[home + k] * (weights_gradient[home + k] - mean);
}

// w_v_rows (B, Q, A) is what each query adds to the gradient of w_v.
template <class T>
__global__ void __launch_bounds__(threads)
    query_kernel(const __grid_constant__ Task<T> task, const T* score_gradient, T* query_gradient, T* w_v_rows) {
    const std::int64_t row = blockIdx.x, batch = row / task.queries;
    const int count = task.keys_of(batch);
    for (std::int64_t i = threadIdx.x; i < task.width; i += threads) {
        const T query = task.query[row * task.width + i], w_v = task.w_v[i];
        T inner = 0, outer = 0;
        for (int k = 0; k < count; ++k) {
            const T bent = ::tanh(query + task.key[(batch * task.keys + k) * task.width + i]);
            const T gradient = score_gradient[row * task.keys + k];
            inner += gradient * (1 - bent * bent);
            outer += gradient * bent;
        }
        query_gradient[row * task.width + i] = w_v * inner;
        w_v_rows[row * task.width + i] = outer;
    }
}

template <class T>
__global__ void __launch_bounds__(threads)
    key_kernel(const __grid_constant__ Task<T> task, const T* score_gradient, T* key_gradient) {
    const std::int64_t batch = blockIdx.x / task.keys, k = blockIdx.x % task.keys;
    const bool counts = k < task.keys_of(batch);
    for (std::int64_t i = threadIdx.x; i < task.width; i += threads) {
        const std::int64_t home = blockIdx.x * task.width + i;
        T inner = 0;
        for (std::int64_t q = 0; counts && q < task.queries; ++q) {
            const std::int64_t row = batch * task.queries + q;
            const T bent = ::tanh(task.query[row * task.width + i] + task.key[home]);
            inner += score_gradient[row * task.keys + k] * (1 - bent * bent);
        }
        key_gradient[home] = task.w_v[i] * inner;
    }
}

template <class T>
void forward(const AdditiveAttentionViews& views) {
    const Task<T> task(views);
    if (views.weights.elements() == 0) return;
    weights_kernel<T>
        <<<static_cast<unsigned>(task.batches * task.queries), threads, 0, stream_of(views.weights.device.index)>>>(
            task);
    check_launch("additive_attention");
}

template <class T>
void backward(const AdditiveAttentionViews& views, const AdditiveAttentionGradients& gradients) {
    const char* name = "additive_attention_backward";
    const Task<T> task(views);
    const Device device = views.weights.device;
    const cudaStream_t stream = stream_of(device.index);
    const std::int64_t rows = task.batches * task.queries;
    const Workspace<T> scores(device, rows * task.keys), w_v_rows(device, rows * task.width);
    if (rows * task.keys > 0) {
        score_kernel<T>
            <<<static_cast<unsigned>(rows), threads, 0, stream>>>(task, gradients.weights.as<const T>(), scores.data());
        check_launch(name);
    }
    if (rows > 0) {
        query_kernel<T><<<static_cast<unsigned>(rows), threads, 0, stream>>>(task, scores.data(),
                                                                             gradients.query.as<T>(), w_v_rows.data());
        check_launch(name);
    }
    if (task.batches * task.keys > 0) {
        key_kernel<T><<<static_cast<unsigned>(task.batches * task.keys), threads, 0, stream>>>(task, scores.data(),
                                                                                               gradients.key.as<T>());
        check_launch(name);
    }
    const Shape parts{task.batches, task.queries, task.width}, sums{task.batches, 1, task.width};
    kernels::sum.on(device)({w_v_rows.data(), dtype_of<T>, device, parts, contiguous_strides(parts)},
                            {gradients.w_v.data, dtype_of<T>, device, sums, contiguous_strides(sums)});
}

void check_dtype(DType dtype) {
    check(dtype == DType::F32 || dtype == DType::F64, "additive_attention: needs f32 or f64, not ", dtype);
}

void additive_attention_on_cuda(const AdditiveAttentionViews& views) {
    check_dtype(views.weights.dtype);
    views.weights.dtype == DType::F32 ? forward<float>(views) : forward<double>(views);
}

void additive_attention_backward_on_cuda(const AdditiveAttentionViews& views,
                                         const AdditiveAttentionGradients& gradients) {
    check_dtype(views.weights.dtype);
    views.weights.dtype == DType::F32 ? backward<float>(views, gradients) : backward<double>(views, gradients);
}

const RegisterKernel register_forward{kernels::additive_attention, DeviceKind::CUDA, additive_attention_on_cuda};
const RegisterKernel register_backward{kernels::additive_attention_backward, DeviceKind::CUDA,
                                       additive_attention_backward_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
