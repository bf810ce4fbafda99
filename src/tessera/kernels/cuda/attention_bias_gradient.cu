// The gradient of an additive bias: the score gradients themselves, summed over the dimensions the bias was stretched
// along. A block owns a tile of the result (or a line, or a value of it) and goes through everything that adds to it in
// order.
#include "tessera/kernels/attention.h"

#include "tessera/kernels/cuda/attention_gradients.h"

namespace tessera::kernels::cuda {
namespace {

template <class T>
struct BiasTask : GradientTask<T> {
    using Compute = compute_t<T>;
    Compute* bias_gradient;
    int sizes[4];  // of the result; 1 where it is summed
    int query_tiles, key_tiles;

    BiasTask(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views, Compute* delta,
             const View& out)
        : GradientTask<T>(settings, views, delta), bias_gradient(out.as<Compute>()) {
        for (int dim = 0; dim < 4; ++dim) sizes[dim] = static_cast<int>(out.size(dim));
        query_tiles = static_cast<int>(ceil_divide(sizes[2], row_tile));
        key_tiles = static_cast<int>(ceil_divide(sizes[3], key_tile));
    }
};

// Where to go on: from the block's own number to the next, or through all of a dimension that is summed.
struct Walk {
    int begin, end;

    __device__ Walk(int own, int result_size, int size) : begin(own), end(own + 1) {
        if (result_size != 1) return;
        begin = 0;
        end = size;
    }
};

// Adds up a block's sums over its rows and keys where the result has one of them, and writes what is left.
template <class T>
__device__ void store_sums(const BiasTask<T>& task, compute_t<T> (&sums)[gradient_rows][4], std::int64_t home,
                           int first_query, int first_key, compute_t<T>* work) {
    using Compute = compute_t<T>;
    const int stride = tile_stride(key_tile);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < gradient_rows; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
            work[(thread_line() * gradient_rows + i) * stride + thread_place() * 4 + j] = sums[i][j];
    __syncthreads();
    const bool one_query = task.sizes[2] == 1, one_key = task.sizes[3] == 1;
    const int rows = one_query ? 1 : row_tile, columns = one_key ? 1 : key_tile;
    for (int at = threadIdx.x; at < rows * columns; at += attention_threads) {
        const int row = at / columns, column = at % columns;
        if (first_query + row >= task.sizes[2] || first_key + column >= task.sizes[3]) continue;
        Compute sum = 0;
        for (int i = row; i < (one_query ? row_tile : row + 1); ++i)
            for (int j = column; j < (one_key ? key_tile : column + 1); ++j) sum += work[i * stride + j];
        task.bias_gradient[home + std::int64_t{first_query + row} * task.sizes[3] + first_key + column] = sum;
    }
}

template <class T>
__global__ void __launch_bounds__(attention_threads) bias_gradient_kernel(const __grid_constant__ BiasTask<T> task) {
    using Compute = compute_t<T>;
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ GradientRows<Compute> rows;
    Compute* work = reinterpret_cast<Compute*>(shared);

    unsigned index = blockIdx.x;
    const int own_keys = static_cast<int>(index % task.key_tiles);
    index /= task.key_tiles;
    const int own_queries = static_cast<int>(index % task.query_tiles);
    index /= task.query_tiles;
    const int own_head = static_cast<int>(index % task.sizes[1]), own_batch = static_cast<int>(index / task.sizes[1]);
    const Walk batches(own_batch, task.sizes[0], task.batches), heads(own_head, task.sizes[1], task.heads);
    const Walk queries(own_queries, task.sizes[2], (task.queries + row_tile - 1) / row_tile);
    const Walk keys(own_keys, task.sizes[3], (task.keys + key_tile - 1) / key_tile);
    const int first_key = keys.begin * key_tile, last_key = ::min(task.keys, keys.end * key_tile);

    Compute sums[gradient_rows][4] = {};
    GradientTile<T> pairs;
    for (int batch = batches.begin; batch < batches.end; ++batch)
        for (int head = heads.begin; head < heads.end; ++head)
            for (int tile = queries.begin; tile < queries.end; ++tile) {
                const int first = tile * row_tile, count = ::min(row_tile, task.queries - first);
                const bool seen = rows.load(task, batch, count, first_key, last_key, [&](int i) {
                    return QueryAndHead{first + i, head};
                });
                if (!seen) continue;
                for (int key = first_key; key < last_key; key += key_tile) {
                    pairs.compute(task, rows, batch, head / task.group, count, key, ::min(key_tile, last_key - key),
                                  true, false, work);
#pragma unroll
                    for (int k = 0; k < gradient_rows * 4; ++k) sums[k / 4][k % 4] += pairs.gradients[k / 4][k % 4];
                }
            }
    const std::int64_t home =
        (std::int64_t{own_batch} * task.sizes[1] + own_head) * task.sizes[2] * std::int64_t{task.sizes[3]};
    store_sums(task, sums, home, own_queries * row_tile, own_keys * key_tile, work);
}

template <class T>
void run(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views, const View& out) {
    const char* name = "attention_bias_gradient";
    const Device device = views.query.device;
    const Workspace<compute_t<T>> delta(device, views.log_sum.elements());
    const BiasTask<T> task(settings, views, delta.data(), out);
    compute_delta(name, task, device.index);
    const std::int64_t blocks = std::int64_t{task.sizes[0]} * task.sizes[1] * task.query_tiles * task.key_tiles;
    launch_attention(name, bias_gradient_kernel<T>, blocks, gradient_bytes<T>(), device.index, task);
}

void attention_bias_gradient_on_cuda(const kernels::AttentionSettings& settings,
                                     const kernels::AttentionBackward& views, const View& out) {
    visit_float(views.query.dtype, "attention_bias_gradient", [&]<class T>(Type<T>) { run<T>(settings, views, out); });
}

const RegisterKernel register_bias_gradient{kernels::attention_bias_gradient, DeviceKind::CUDA,
                                            attention_bias_gradient_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
