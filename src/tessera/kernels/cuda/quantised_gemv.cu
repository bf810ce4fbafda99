// A warp per row of the weight: its lanes decode neighbouring values and multiply each with all vectors.
#include "tessera/kernels/quantised_gemv.h"

#include <algorithm>

#include "tessera/kernels/cuda/block_sum.h"
#include "tessera/kernels/cuda/quantised_blocks.h"
#include "tessera/kernels/cuda/quantised_rows.h"
#include "tessera/kernels/cuda/stream.h"

namespace tessera::kernels::cuda {
namespace {

constexpr int threads = 256, rows_per_block = threads / warp_size;

struct DotsTask {
    const float* x;  // (count, length), contiguous
    const std::uint8_t* weight;
    std::int64_t row_blocks;  // from one row of the weight to the next
    const float* bias;        // or null
    std::int64_t bias_stride;
    float* out;
    std::int64_t out_vector, out_row;
    std::int64_t rows, length;
    int count;
};

template <class Block, int vectors>
__global__ void __launch_bounds__(threads) dots_kernel(const __grid_constant__ DotsTask task) {
    const std::int64_t row = std::int64_t{blockIdx.x} * rows_per_block + threadIdx.x / warp_size;
    if (row >= task.rows) return;  // a whole warp leaves together
    const int lane = threadIdx.x % warp_size;
    const std::uint8_t* blocks = task.weight + row * task.row_blocks * Block::bytes;
    float sums[vectors] = {};
    for (std::int64_t i = lane; i < task.length; i += warp_size) {
        const float weight =
            Block::value(blocks + i / Block::elements * Block::bytes, static_cast<int>(i % Block::elements));
#pragma unroll
        for (int m = 0; m < vectors; ++m)
            if (m < task.count) sums[m] += weight * task.x[m * task.length + i];
    }
    const float shift = task.bias ? task.bias[row * task.bias_stride] : 0.0f;
#pragma unroll
    for (int m = 0; m < vectors; ++m) {
        const float sum = warp_sum(sums[m]);
        if (lane == 0 && m < task.count) task.out[m * task.out_vector + row * task.out_row] = sum + shift;
    }
}

void quantised_gemv_on_cuda(const View& x, const View& weight, const View& bias, const View& out) {
    constexpr int most_at_once = 8;
    if (out.elements() == 0) return;
    const std::int64_t vectors = x.shape[0], length = x.shape[1];
    check(vectors <= kernels::most_quantised_vectors && x.is_contiguous(), "quantised_gemv: x of ", x.shape,
          " is not few dense rows");
    check_whole_blocks(weight, "quantised_gemv");
    const cudaStream_t stream = stream_of(out.device.index);
    DotsTask task{.x = x.as<const float>(),
                  .weight = weight.as<const std::uint8_t>(),
                  .row_blocks = weight.strides[0] / info(weight.dtype).block_elements,
                  .bias = bias.as<const float>(),
                  .bias_stride = bias.defined() ? bias.strides[0] : 0,
                  .out = out.as<float>(),
                  .out_vector = out.strides[0],
                  .out_row = out.strides[1],
                  .rows = weight.shape[0],
                  .length = length,
                  .count = 0};
    const unsigned blocks = ceil_divide(task.rows, rows_per_block);
    visit_quantised(weight.dtype, "quantised_gemv", [&]<class Block>(Type<Block>) {
        for (std::int64_t first = 0; first < vectors; first += most_at_once) {
            task.count = static_cast<int>(std::min<std::int64_t>(most_at_once, vectors - first));
            if (task.count == 1)
                dots_kernel<Block, 1><<<blocks, threads, 0, stream>>>(task);
            else
                dots_kernel<Block, most_at_once><<<blocks, threads, 0, stream>>>(task);
            check_launch("quantised_gemv");
            task.x += most_at_once * length;
            task.out += most_at_once * task.out_vector;
        }
    });
}

const RegisterKernel register_quantised_gemv{kernels::quantised_gemv, DeviceKind::CUDA, quantised_gemv_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
