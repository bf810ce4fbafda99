// Attention backward without atomics. One kernel takes tiles of query rows and walks the keys they see; another takes
// tiles of keys and walks the query rows, of all heads of the group, that see them. Each result tile has up to 128
// columns: wider heads, and keys beside values, take more blocks, which compute the weights again.
#include "tessera/kernels/attention.h"

#include "tessera/kernels/cuda/attention_gradients.h"

namespace tessera::kernels::cuda {
namespace {

template <class T>
struct BackwardTask : GradientTask<T> {
    using Compute = compute_t<T>;
    HeadRows<T> query_gradient, key_gradient, value_gradient;
    int tiles = 0;                                        // of query rows or of keys
    int key_columns = 0, value_columns = 0, columns = 0;  // tiles of columns, the values' after the keys'

    BackwardTask(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views, Compute* delta)
        : GradientTask<T>(settings, views, delta),
          query_gradient(views.query_gradient),
          key_gradient(views.key_gradient),
          value_gradient(views.value_gradient) {}

    std::int64_t blocks() const { return std::int64_t{tiles} * columns * this->key_heads * this->batches; }
};

// What a block works on.
struct Place {
    int batch, key_head, tile, column_tile;

    template <class T>
    __device__ explicit Place(const BackwardTask<T>& task) {
        unsigned index = blockIdx.x;
        const auto take = [&](int count) {
            const int taken = static_cast<int>(index % count);
            index /= count;
            return taken;
        };
        column_tile = take(task.columns);
        tile = take(task.tiles);
        key_head = take(task.key_heads);
        batch = static_cast<int>(index);
    }
};

template <class T>
__global__ void __launch_bounds__(attention_threads)
    query_gradient_kernel(const __grid_constant__ BackwardTask<T> task) {
    using Compute = compute_t<T>;
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ GradientRows<Compute> rows;
    Compute* work = reinterpret_cast<Compute*>(shared);
    Compute* tile = work + work_size<gradient_rows>();  // a line per key, a column per query row

    const Place place(task);
    const int first_row = (task.tiles - 1 - place.tile) * row_tile;  // the last ones see the most keys
    const int count = ::min(row_tile, task.queries * task.group - first_row);
    const int column = place.column_tile * column_tile;
    rows.load(task, place.batch, count, 0, task.keys, [&](int i) {
        return QueryAndHead{(first_row + i) / task.group, place.key_head * task.group + (first_row + i) % task.group};
    });
    int first_key, last_key;
    rows.span(first_key, last_key);

    Compute sums[gradient_rows][column_groups][4] = {};
    GradientTile<T> pairs;
    for (int key = first_key; key < last_key; key += key_tile) {
        const int keys = ::min(key_tile, last_key - key);
        pairs.compute(task, rows, place.batch, place.key_head, count, key, keys, true, true, work);
#pragma unroll
        for (int i = 0; i < gradient_rows; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j)
                tile[(thread_place() * 4 + j) * tile_stride(row_tile) + thread_line() * gradient_rows + i] =
                    pairs.gradients[i][j];
        __syncthreads();
        const std::int64_t key_start = task.key.start(place.batch, key, place.key_head) + column;
        add_product(
            tile, keys, task.width - column,
            [&](int row, int index) { return task.key.load(key_start + row * task.key.strides[1] + index); }, work,
            sums);
    }
    for_each_result(sums, count, task.width - column, [&](int row, int index, Compute value) {
        const HeadRows<T>& to = task.query_gradient;
        to.store(to.start(place.batch, rows.query[row], rows.head[row]) + column + index, value * task.scale);
    });
}

// The queries that may see a key of [first, last): all that do, and few besides.
template <class T>
__device__ void queries_of(const BackwardTask<T>& task, int batch, int first, int last, int& begin, int& end) {
    const kernels::KeyMask& mask = task.mask;
    const std::int64_t position = mask.position(batch, 0);
    const std::int64_t prefix = mask.prefixes != nullptr ? mask.prefixes[batch] : mask.prefix;
    const bool all_before = mask.ahead < 0 || first < prefix;
    const std::int64_t from = all_before ? 0 : first - mask.ahead - position;
    const std::int64_t to = mask.behind < 0 ? task.queries : last + mask.behind - position;
    begin = static_cast<int>(::max(std::int64_t{0}, ::min(from, std::int64_t{task.queries})));
    end = static_cast<int>(::max(std::int64_t{begin}, ::min(to, std::int64_t{task.queries})));
}

template <class T>
__global__ void __launch_bounds__(attention_threads) key_gradient_kernel(const __grid_constant__ BackwardTask<T> task) {
    using Compute = compute_t<T>;
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ GradientRows<Compute> rows;
    Compute* work = reinterpret_cast<Compute*>(shared);
    Compute* tile = work + work_size<gradient_rows>();  // a line per query row, a column per key

    const Place place(task);
    const bool of_values = place.column_tile >= task.key_columns;
    const int column = (place.column_tile - (of_values ? task.key_columns : 0)) * column_tile;
    const int columns = (of_values ? task.value_width : task.width) - column;
    const int first_key = place.tile * key_tile, keys = ::min(key_tile, task.keys - first_key);
    const HeadRows<T>& right = of_values ? task.out_gradient : task.query;
    int first_query, last_query;
    queries_of(task, place.batch, first_key, first_key + keys, first_query, last_query);

    Compute sums[gradient_rows][column_groups][4] = {};
    GradientTile<T> pairs;
    for (int first_row = first_query * task.group; first_row < last_query * task.group; first_row += row_tile) {
        const int count = ::min(row_tile, last_query * task.group - first_row);
        const bool seen = rows.load(task, place.batch, count, first_key, first_key + keys, [&](int i) {
            return QueryAndHead{(first_row + i) / task.group,
                                place.key_head * task.group + (first_row + i) % task.group};
        });
        if (!seen) continue;
        pairs.compute(task, rows, place.batch, place.key_head, count, first_key, keys, !of_values, true, work);
#pragma unroll
        for (int i = 0; i < gradient_rows; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j)
                tile[(thread_line() * gradient_rows + i) * tile_stride(key_tile) + thread_place() * 4 + j] =
                    of_values ? pairs.weights[i][j] : pairs.gradients[i][j];
        __syncthreads();
        add_product(
            tile, count, columns,
            [&](int row, int index) {
                return right.load(right.start(place.batch, rows.query[row], rows.head[row]) + column + index);
            },
            work, sums);
    }
    const HeadRows<T>& to = of_values ? task.value_gradient : task.key_gradient;
    const Compute factor = of_values ? Compute(1) : task.scale;
    for_each_result(sums, keys, columns, [&](int row, int index, Compute value) {
        to.store(to.start(place.batch, first_key + row, place.key_head) + column + index, value * factor);
    });
}

template <class T>
void run_backward(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views) {
    const char* name = "attention_backward";
    const Device device = views.query.device;
    const Workspace<compute_t<T>> delta(device, views.log_sum.elements());
    BackwardTask<T> task(settings, views, delta.data());
    compute_delta(name, task, device.index);
    if (views.query_gradient.defined()) {
        task.tiles = static_cast<int>(ceil_divide(task.query_rows(), row_tile));
        task.columns = static_cast<int>(ceil_divide(task.width, column_tile));
        launch_attention(name, query_gradient_kernel<T>, task.blocks(), gradient_bytes<T>(), device.index, task);
    }
    task.tiles = static_cast<int>(ceil_divide(task.keys, key_tile));
    task.key_columns = views.key_gradient.defined() ? static_cast<int>(ceil_divide(task.width, column_tile)) : 0;
    task.value_columns =
        views.value_gradient.defined() ? static_cast<int>(ceil_divide(task.value_width, column_tile)) : 0;
    task.columns = task.key_columns + task.value_columns;
    launch_attention(name, key_gradient_kernel<T>, task.blocks(), gradient_bytes<T>(), device.index, task);
}

void attention_backward_on_cuda(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views) {
    visit_float(views.query.dtype, "attention_backward", [&]<class T>(Type<T>) { run_backward<T>(settings, views); });
}

const RegisterKernel register_attention_backward{kernels::attention_backward, DeviceKind::CUDA,
                                                 attention_backward_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
