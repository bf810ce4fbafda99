// Weights and score gradients of a tile of query rows against a tile of keys, recomputed from the saved log-sum; shared
// by the backward kernels.
//
//     weight  = e^(score − log_sum)
//     d score = weight · (keep · out_gradient · value − delta),   delta = Σ out_gradient · out
#pragma once

#include "tessera/kernels/cuda/attention_task.h"
#include "tessera/kernels/cuda/workspace.h"

namespace tessera::kernels::cuda {

constexpr int gradient_rows = 4, row_tile = tile_lines * gradient_rows;

template <class T>
struct GradientTask : AttentionTask<T> {
    using Compute = compute_t<T>;
    HeadRows<T> out, out_gradient;
    const Compute* log_sum;
    Compute* delta;  // (B, H, Tq)

    GradientTask(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views, Compute* delta)
        : AttentionTask<T>(settings, views.query, views.key, views.value),
          out(views.out),
          out_gradient(views.out_gradient),
          log_sum(views.log_sum.as<const Compute>()),
          delta(delta) {}
};

// A warp to each query and head.
template <class T>
__global__ void __launch_bounds__(attention_threads) delta_kernel(const __grid_constant__ GradientTask<T> task) {
    const std::int64_t line = std::int64_t{blockIdx.x} * (attention_threads / warp_size) + threadIdx.x / warp_size;
    if (line >= std::int64_t{task.batches} * task.queries * task.heads) return;  // a whole warp leaves together
    const std::int64_t head = line % task.heads, query = line / task.heads % task.queries,
                       batch = line / task.heads / task.queries;
    const std::int64_t out = task.out.start(batch, query, head);
    const std::int64_t gradient = task.out_gradient.start(batch, query, head);
    compute_t<T> sum = 0;
    for (int column = threadIdx.x % warp_size; column < task.value_width; column += warp_size)
        sum += task.out.load(out + column) * task.out_gradient.load(gradient + column);
    sum = warp_sum(sum);
    if (threadIdx.x % warp_size == 0) task.delta[(batch * task.heads + head) * task.queries + query] = sum;
}

template <class T>
void compute_delta(const char* name, const GradientTask<T>& task, int device) {
    const std::int64_t lines = std::int64_t{task.batches} * task.queries * task.heads;
    launch_attention(name, delta_kernel<T>, ceil_divide(lines, attention_threads / warp_size), 0, device, task);
}

// Facts about the query rows of a tile, with what backward needs of their results.
template <class Compute>
struct GradientRows : TileRows<row_tile> {
    Compute log_sum[row_tile], delta[row_tile];

    // of(i) gives query and head of row i. All threads must call it; what was here before has been read by then.
    // Returns whether any row sees any of the keys [first, last).
    template <class T, class Of>
    __device__ bool load(const GradientTask<T>& task, int batch, int count, int first, int last, Of&& of) {
        __syncthreads();
        bool sees = false;
        if (threadIdx.x < row_tile) {
            const int i = static_cast<int>(threadIdx.x);
            const bool exists = i < count;
            const auto [query_at, head_at] = of(i);
            this->set(task, i, batch, exists, query_at, head_at);
            const std::int64_t index = this->log_sum_index(task, batch, i);
            const Compute saved = exists ? task.log_sum[index] : -std::numeric_limits<Compute>::infinity();
            // A query that sees nothing: all its weights become 0.
            log_sum[i] = saved == -std::numeric_limits<Compute>::infinity() ? -saved : saved;
            delta[i] = exists ? task.delta[index] : Compute(0);
            sees = this->begin[i]<last&& this->end[i]> first;
        }
        return __syncthreads_or(sees);
    }
};

struct QueryAndHead {
    int query, head;
};

// A tile against a tile, in each thread its own 4 × 4 pairs.
template <class T>
struct GradientTile {
    using Compute = compute_t<T>;
    Compute weights[gradient_rows][4];    // after dropout
    Compute gradients[gradient_rows][4];  // of the scores; with undo_cap, of scale · query · key

    // For `count` rows and the keys [first, first + keys). All threads must call it; `work` is free afterwards.
    __device__ void compute(const GradientTask<T>& task, const GradientRows<Compute>& rows, int batch, int key_head,
                            int count, int first, int keys, bool wants_gradients, bool undo_cap, Compute* work) {
        const auto pairs_of = [&](const HeadRows<T>& left, const HeadRows<T>& right, int width,
                                  Compute(&products)[gradient_rows][4]) {
            const std::int64_t right_start = right.start(batch, first, key_head);
            multiply_rows(
                width, count,
                [&](int row, int index) {
                    return left.load(left.start(batch, rows.query[row], rows.head[row]) + index);
                },
                keys, [&](int row, int index) { return right.load(right_start + row * right.strides[1] + index); },
                work, products);
        };
        pairs_of(task.query, task.key, task.width, weights);
        if (wants_gradients) pairs_of(task.out_gradient, task.value, task.value_width, gradients);
#pragma unroll
        for (int i = 0; i < gradient_rows; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const int row = thread_line() * gradient_rows + i, key = first + thread_place() * 4 + j;
                const Score<Compute> score = score_of(task, rows, batch, row, key, weights[i][j]);
                const bool seen = score.value != -std::numeric_limits<Compute>::infinity();
                const Compute weight = seen ? ::exp(score.value - rows.log_sum[row]) : Compute(0);
                const Compute kept = seen ? dropout_factor(task, rows, batch, row, key) : Compute(0);
                weights[i][j] = weight * kept;
                if (!wants_gradients) continue;
                const Compute slope = undo_cap ? score.cap_slope : Compute(1);
                gradients[i][j] = seen ? weight * (kept * gradients[i][j] - rows.delta[row]) * slope : Compute(0);
            }
    }
};

template <class T>
constexpr std::size_t gradient_bytes() {
    return sizeof(compute_t<T>) * (work_size<gradient_rows>() + key_tile * tile_stride(row_tile));
}

}  // namespace tessera::kernels::cuda
