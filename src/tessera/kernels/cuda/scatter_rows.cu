// A block per row and 1024 columns. The block of the first row with an id looks for all later ones and adds them up;
// the blocks of those find that they are not the first, and end.
#include "tessera/kernels/cuda/scatter_rows.h"

#include "tessera/kernels/cuda/block_sum.h"
#include "tessera/kernels/cuda/stream.h"
#include "tessera/kernels/cuda/values.h"

namespace tessera::kernels::cuda {
namespace {

constexpr int threads = 256, warps = threads / warp_size;
constexpr int columns_each = 4;

template <class T, class Index>
struct ScatterTask {
    const Index* ids;
    const T* rows;
    T* into;
    std::int64_t id_step, row_step, row_element, into_step, into_element;
    std::int64_t count, width, size;
    bool adds;

    __device__ std::int64_t id(std::int64_t n) const { return ids[n * id_step]; }
};

template <class T, class Index>
__device__ bool stands_before(const ScatterTask<T, Index>& task, std::int64_t id, std::int64_t n) {
    bool found = false;
    for (std::int64_t m = threadIdx.x; m < n && !found; m += threads) found = task.id(m) == id;
    return __syncthreads_or(found);
}

// Lists which of `threads` rows from `begin` on have this id, in order; every thread gets how many there are.
template <class T, class Index>
__device__ int list_matches(const ScatterTask<T, Index>& task, std::int64_t id, std::int64_t begin,
                            std::int64_t* matches, int* counts) {
    const unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    const std::int64_t m = begin + threadIdx.x;
    const bool match = m < task.count && task.id(m) == id;
    const unsigned mask = __ballot_sync(0xffffffffu, match);
    if (lane == 0) counts[warp] = __popc(mask);
    if (!__syncthreads_or(match)) return 0;
    int before = __popc(mask & ((1u << lane) - 1)), total = 0;
    for (int w = 0; w < warps; ++w) {
        if (w < static_cast<int>(warp)) before += counts[w];
        total += counts[w];
    }
    if (match) matches[before] = m;
    __syncthreads();
    return total;
}

template <class T, class Index>
__global__ void __launch_bounds__(threads) scatter_kernel(const __grid_constant__ ScatterTask<T, Index> task) {
    using Compute = compute_t<T>;
    __shared__ std::int64_t matches[threads];
    __shared__ int counts[warps];
    const std::int64_t n = blockIdx.x, id = task.id(n);
    if (id < 0 || id >= task.size || stands_before(task, id, n)) return;
    const std::int64_t first = std::int64_t{blockIdx.y} * (threads * columns_each) + threadIdx.x;
    T* into = task.into + id * task.into_step;
    Compute sums[columns_each] = {};
    if (task.adds)
        for (int k = 0; k < columns_each; ++k)
            if (const std::int64_t column = first + k * threads; column < task.width)
                sums[k] = widen(into[column * task.into_element]);
    for (std::int64_t begin = n; begin < task.count; begin += threads) {
        const int total = list_matches(task, id, begin, matches, counts);
        for (int i = 0; i < total; ++i) {
            const T* row = task.rows + matches[i] * task.row_step;
#pragma unroll
            for (int k = 0; k < columns_each; ++k)
                if (const std::int64_t column = first + k * threads; column < task.width)
                    sums[k] += widen(row[column * task.row_element]);
        }
        __syncthreads();  // the list has been read
    }
#pragma unroll
    for (int k = 0; k < columns_each; ++k)
        if (const std::int64_t column = first + k * threads; column < task.width)
            into[column * task.into_element] = convert_to<T>(sums[k]);
}

}  // namespace

void scatter_rows(const View& ids, const View& rows, const View& into, bool adds) {
    if (rows.elements() == 0) return;
    const unsigned parts = ceil_divide(rows.shape[1], threads * columns_each);
    check(parts <= 65535 && rows.shape[0] < std::int64_t{1} << 31, "scatter_rows: rows of ", rows.shape,
          " are too many or too long");
    visit_float(rows.dtype, "scatter_rows", [&]<class T>(Type<T>) {
        visit_index(ids.dtype, "scatter_rows", [&]<class Index>(Type<Index>) {
            const ScatterTask<T, Index> task{.ids = ids.as<const Index>(),
                                             .rows = rows.as<const T>(),
                                             .into = into.as<T>(),
                                             .id_step = ids.strides[0],
                                             .row_step = rows.strides[0],
                                             .row_element = rows.strides[1],
                                             .into_step = into.strides[0],
                                             .into_element = into.strides[1],
                                             .count = rows.shape[0],
                                             .width = rows.shape[1],
                                             .size = into.shape[0],
                                             .adds = adds};
            scatter_kernel<<<dim3(static_cast<unsigned>(rows.shape[0]), parts), threads, 0,
                             stream_of(into.device.index)>>>(task);
            check_launch("scatter_rows");
        });
    });
}

}  // namespace tessera::kernels::cuda
