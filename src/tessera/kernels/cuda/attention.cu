// Attention forward. A block takes a tile of query rows of one key head and up to 128 columns of the values, and walks
// the keys that any of its rows sees, 64 at a time, with the online softmax (Milakov & Gimelshein 2018). Where there
// are too few tiles to fill a device, as in decoding, each tile's keys are cut into parts whose results a second kernel
// merges. How work is cut depends on shapes and masks alone: the same call gives the same bits.
#include "tessera/kernels/attention.h"

#include "tessera/kernels/cuda/attention_task.h"
#include "tessera/kernels/cuda/workspace.h"

namespace tessera::kernels::cuda {
namespace {

template <class T>
struct ForwardTask : AttentionTask<T> {
    using Compute = compute_t<T>;
    HeadRows<T> out;
    Compute* log_sum;
    int row_tiles = 1, column_tiles = 1, parts = 1;
    Compute *part_out = nullptr, *part_log_sum = nullptr;  // (parts, B, Tq, H, Dv) and (parts, B, H, Tq) of several

    ForwardTask(const kernels::AttentionSettings& settings, const kernels::AttentionForward& views)
        : AttentionTask<T>(settings, views.query, views.key, views.value),
          out(views.out),
          log_sum(views.log_sum.as<Compute>()) {}

    __host__ __device__ std::int64_t log_sums() const {
        return std::int64_t{this->batches} * this->heads * this->queries;
    }
};

// What a block works on.
struct Place {
    int batch, key_head, row_tile, column_tile, part;

    template <class T>
    __device__ explicit Place(const ForwardTask<T>& task) {
        unsigned index = blockIdx.x;
        const auto take = [&](int count) {
            const int taken = static_cast<int>(index % count);
            index /= count;
            return taken;
        };
        part = take(task.parts);
        column_tile = take(task.column_tiles);
        row_tile = task.row_tiles - 1 - take(task.row_tiles);  // the last ones see the most keys: they start first
        key_head = take(task.key_heads);
        batch = static_cast<int>(index);
    }
};

// The running softmax of a thread's R rows. The 16 threads of a line hold the same numbers.
template <class T, int R>
struct RunningRows {
    T largest[R], total[R];
    T out[R][column_groups][4];

    __device__ RunningRows() {
#pragma unroll
        for (int i = 0; i < R; ++i) {
            largest[i] = -std::numeric_limits<T>::infinity();
            total[i] = 0;
#pragma unroll
            for (int k = 0; k < column_groups * 4; ++k) out[i][k / 4][k % 4] = 0;
        }
    }

    // Turns scores into weights relative to the new largest one, and brings what was summed so far to it.
    __device__ void take(T (&scores)[R][4]) {
#pragma unroll
        for (int i = 0; i < R; ++i) {
            T most = ::max(::max(scores[i][0], scores[i][1]), ::max(scores[i][2], scores[i][3]));
#pragma unroll
            for (int distance = tile_lines / 2; distance > 0; distance /= 2)
                most = ::max(most, __shfl_xor_sync(0xffffffffu, most, distance));
            most = ::max(most, largest[i]);
            // With no key seen yet there is nothing to subtract: −∞ − −∞ would be NaN.
            const T shift = most == -std::numeric_limits<T>::infinity() ? T(0) : most;
            const T shrink = ::exp(largest[i] - shift);
            largest[i] = most;
            T sum = 0;
#pragma unroll
            for (int j = 0; j < 4; ++j) sum += scores[i][j] = ::exp(scores[i][j] - shift);
#pragma unroll
            for (int distance = tile_lines / 2; distance > 0; distance /= 2)
                sum += __shfl_xor_sync(0xffffffffu, sum, distance);
            total[i] = total[i] * shrink + sum;
#pragma unroll
            for (int k = 0; k < column_groups * 4; ++k) out[i][k / 4][k % 4] *= shrink;
        }
    }
};

template <class T, int R>
__device__ void store_rows(const ForwardTask<T>& task, const Place& place, const TileRows<tile_lines * R>& rows,
                           int count, RunningRows<compute_t<T>, R>& running) {
    using Compute = compute_t<T>;
    const int columns = task.value_width - place.column_tile * column_tile;
    const std::int64_t sums_before = place.part * task.log_sums();
    Compute* log_sums = task.parts > 1 ? task.part_log_sum + sums_before : task.log_sum;
#pragma unroll
    for (int i = 0; i < R; ++i) {
        const int row = thread_line() * R + i;
        const Compute total = running.total[i];
        const Compute factor = total == 0 ? Compute(0) : 1 / total;
#pragma unroll
        for (int k = 0; k < column_groups * 4; ++k) running.out[i][k / 4][k % 4] *= factor;
        if (row < count && place.column_tile == 0 && thread_place() == 0)
            log_sums[rows.log_sum_index(task, place.batch, row)] =
                total == 0 ? -std::numeric_limits<Compute>::infinity() : running.largest[i] + ::log(total);
    }
    for_each_result(running.out, count, columns, [&](int row, int column, Compute value) {
        const int at = place.column_tile * column_tile + column;
        if (task.parts > 1) {
            const std::int64_t line =
                (std::int64_t{place.batch} * task.queries + rows.query[row]) * task.heads + rows.head[row];
            task.part_out[(sums_before + line) * task.value_width + at] = value;
        } else {
            task.out.store(task.out.start(place.batch, rows.query[row], rows.head[row]) + at, value);
        }
    });
}

template <class T, int R>
constexpr std::size_t forward_bytes() {
    return sizeof(compute_t<T>) * (work_size<R>() + key_tile * tile_stride(tile_lines * R));
}

template <class T, int R>
__global__ void __launch_bounds__(attention_threads) forward_kernel(const __grid_constant__ ForwardTask<T> task) {
    using Compute = compute_t<T>;
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ TileRows<tile_lines * R> rows;
    Compute* work = reinterpret_cast<Compute*>(shared);
    Compute* weights = work + work_size<R>();  // a line per key, a column per query row

    const Place place(task);
    const int first_row = place.row_tile * tile_lines * R;
    const int count = ::min(tile_lines * R, task.queries * task.group - first_row);
    rows.set_rows(task, place.batch, place.key_head, first_row, count);
    __syncthreads();
    int first_key, last_key;
    rows.span(first_key, last_key);
    const int tiles = (last_key - first_key + key_tile - 1) / key_tile;
    const int tiles_per_part = (tiles + task.parts - 1) / task.parts;
    first_key += place.part * tiles_per_part * key_tile;
    last_key = ::min(last_key, first_key + tiles_per_part * key_tile);

    RunningRows<Compute, R> running;
    const std::int64_t key_start = task.key.start(place.batch, 0, place.key_head);
    const std::int64_t value_start = task.value.start(place.batch, 0, place.key_head) + place.column_tile * column_tile;
    for (int key = first_key; key < last_key; key += key_tile) {
        const int keys = ::min(key_tile, last_key - key);
        Compute scores[R][4];
        multiply_rows(
            task.width, count,
            [&](int row, int index) {
                return task.query.load(task.query.start(place.batch, rows.query[row], rows.head[row]) + index);
            },
            keys,
            [&](int row, int index) { return task.key.load(key_start + (key + row) * task.key.strides[1] + index); },
            work, scores);
#pragma unroll
        for (int i = 0; i < R; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const int row = thread_line() * R + i, at = key + thread_place() * 4 + j;
                const bool exists = at < last_key;  // the next part may go on with keys that these rows see
                scores[i][j] = exists ? score_of(task, rows, place.batch, row, at, scores[i][j]).value
                                      : -std::numeric_limits<Compute>::infinity();
            }
        running.take(scores);
#pragma unroll
        for (int i = 0; i < R; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const int row = thread_line() * R + i, at = thread_place() * 4 + j;
                weights[at * tile_stride(tile_lines * R) + row] =
                    scores[i][j] * dropout_factor(task, rows, place.batch, row, key + at);
            }
        __syncthreads();
        add_product(
            weights, keys, task.value_width - place.column_tile * column_tile,
            [&](int row, int column) {
                return task.value.load(value_start + (key + row) * task.value.strides[1] + column);
            },
            work, running.out);
    }
    store_rows(task, place, rows, count, running);
}

// A warp merges the parts of one query and head.
template <class T>
__global__ void __launch_bounds__(attention_threads) merge_parts_kernel(const __grid_constant__ ForwardTask<T> task) {
    using Compute = compute_t<T>;
    const std::int64_t line =
        std::int64_t{blockIdx.x} * (attention_threads / warp_size) + threadIdx.x / warp_size;  // of (B, Tq, H)
    if (line >= task.log_sums()) return;
    const std::int64_t head = line % task.heads, query = line / task.heads % task.queries,
                       batch = line / task.heads / task.queries;
    const std::int64_t sum_index = (batch * task.heads + head) * task.queries + query;
    const Compute none = -std::numeric_limits<Compute>::infinity();
    Compute largest = none, total = 0;
    for (int part = 0; part < task.parts; ++part)
        largest = ::max(largest, task.part_log_sum[part * task.log_sums() + sum_index]);
    const Compute shift = largest == none ? Compute(0) : largest;
    for (int part = 0; part < task.parts; ++part)
        total += ::exp(task.part_log_sum[part * task.log_sums() + sum_index] - shift);
    const int lane = threadIdx.x % warp_size;
    if (lane == 0) task.log_sum[sum_index] = total == 0 ? none : shift + ::log(total);
    for (int column = lane; column < task.value_width; column += warp_size) {
        Compute sum = 0;
        for (int part = 0; part < task.parts; ++part) {
            const Compute share = ::exp(task.part_log_sum[part * task.log_sums() + sum_index] - shift);
            sum += share * task.part_out[(part * task.log_sums() + line) * task.value_width + column];
        }
        task.out.store(task.out.start(batch, query, head) + column, total == 0 ? Compute(0) : sum / total);
    }
}

// Parts where tiles alone would leave most of a device idle, each with some tiles of keys to walk.
int parts_for(std::int64_t blocks, int keys) {
    constexpr std::int64_t enough_blocks = 264, least_keys = 4 * key_tile;
    return static_cast<int>(std::max<std::int64_t>(1, std::min(enough_blocks / blocks, keys / least_keys)));
}

template <class T, int R>
void run_forward(const View& log_sum, ForwardTask<T>& task) {
    using Compute = compute_t<T>;
    task.row_tiles = static_cast<int>(ceil_divide(task.query_rows(), tile_lines * R));
    task.column_tiles = static_cast<int>(std::max(1u, ceil_divide(task.value_width, column_tile)));
    const std::int64_t blocks = std::int64_t{task.row_tiles} * task.column_tiles * task.key_heads * task.batches;
    task.parts = parts_for(blocks, task.keys);
    const Device device = log_sum.device;
    const std::int64_t part_rows = task.parts > 1 ? task.parts * task.log_sums() : 0;
    const Workspace<Compute> out(device, part_rows * task.value_width), sums(device, part_rows);
    task.part_out = out.data();
    task.part_log_sum = sums.data();
    launch_attention("attention", forward_kernel<T, R>, blocks * task.parts, forward_bytes<T, R>(), device.index, task);
    if (task.parts > 1)
        launch_attention("attention", merge_parts_kernel<T>,
                         ceil_divide(task.log_sums(), attention_threads / warp_size), 0, device.index, task);
}

void attention_on_cuda(const kernels::AttentionSettings& settings, const kernels::AttentionForward& views) {
    if (views.log_sum.elements() == 0) return;
    visit_float(views.query.dtype, "attention", [&]<class T>(Type<T>) {
        ForwardTask<T> task(settings, views);
        if (task.query_rows() <= tile_lines)
            run_forward<T, 1>(views.log_sum, task);
        else
            run_forward<T, 4>(views.log_sum, task);
    });
}

const RegisterKernel register_attention{kernels::attention, DeviceKind::CUDA, attention_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
