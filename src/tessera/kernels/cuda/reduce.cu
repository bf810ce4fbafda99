// Sums and means along dimensions, added up in double. Where there are few results, each long sum is cut into parts by
// shape alone and a second pass adds the parts in order: no atomics, the same bits every time.
#include "tessera/kernels/reduce.h"

#include <algorithm>
#include <vector>

#include "tessera/kernels/cuda/block_sum.h"
#include "tessera/kernels/cuda/strided.h"
#include "tessera/kernels/cuda/workspace.h"
#include "tessera/kernels/memory.h"

namespace tessera::kernels::cuda {
namespace {

constexpr int threads = 256;
constexpr int columns = warp_size, column_rows = threads / columns;
constexpr int unroll = 4;  // independent loads in flight per thread

struct Plan {
    Dimensions<2> kept;     // offsets into the values and into the results
    Dimensions<1> reduced;  // offsets into the values
    std::uint32_t results = 1, length = 1;
    std::uint32_t parts = 1, chunk = 1;  // each sum is cut into `parts` of `chunk` values
    double divisor = 1;                  // of every finished sum, before it is rounded
    bool innermost_is_kept = false;
};

// Writes a finished sum, or one part of it to result · parts + part.
template <class Out>
__device__ void store_sum(const Plan& plan, std::uint32_t result, std::int64_t home, double sum, Out* out,
                          double* partial) {
    if (partial == nullptr)
        out[home] = convert_to<Out>(sum / plan.divisor);
    else
        partial[static_cast<std::int64_t>(result) * plan.parts + blockIdx.y] = sum;
}

// The values that one thread adds: every step-th of [first, end).
template <class In>
__device__ double sum_of_steps(const In* values, const Plan& plan, std::uint32_t first, std::uint32_t end,
                               std::uint32_t step) {
    double total = 0;
    for (std::uint32_t i = first; i < end; i += unroll * step) {
        double value[unroll];
#pragma unroll
        for (int k = 0; k < unroll; ++k) {
            const std::uint32_t index = i + k * step;
            value[k] = index < end ? convert_to<double>(values[plan.reduced.offsets(index)[0]]) : 0.0;
        }
#pragma unroll
        for (int k = 0; k < unroll; ++k) total += value[k];
    }
    return total;
}

// Neighbouring values belong to one sum: `group` threads share a sum.
template <class In, class Out, int group>
__global__ void __launch_bounds__(threads)
    sum_rows(const In* in, Out* out, double* partial, const __grid_constant__ Plan plan) {
    const std::uint32_t result = blockIdx.x * (threads / group) + threadIdx.x / group;
    const bool exists = result < plan.results;
    const auto offset = plan.kept.offsets(exists ? result : 0);
    const std::uint32_t begin = blockIdx.y * plan.chunk, end = ::min(plan.length, begin + plan.chunk);
    double sum = exists ? sum_of_steps(in + offset[0], plan, begin + threadIdx.x % group, end, group) : 0.0;
    sum = group_sum<group>(sum);
    if (exists && threadIdx.x % group == 0) store_sum(plan, result, offset[1], sum, out, partial);
}

// Neighbouring values belong to different sums: 32 sums side by side, each shared by 8 threads.
template <class In, class Out>
__global__ void __launch_bounds__(threads)
    sum_columns(const In* in, Out* out, double* partial, const __grid_constant__ Plan plan) {
    __shared__ double sums[column_rows][columns];
    const std::uint32_t column = threadIdx.x % columns, row = threadIdx.x / columns;
    const std::uint32_t result = blockIdx.x * columns + column;
    const bool exists = result < plan.results;
    const auto offset = plan.kept.offsets(exists ? result : 0);
    const std::uint32_t begin = blockIdx.y * plan.chunk, end = ::min(plan.length, begin + plan.chunk);
    sums[row][column] = exists ? sum_of_steps(in + offset[0], plan, begin + row, end, column_rows) : 0.0;
    __syncthreads();
    if (row != 0 || !exists) return;
    double sum = 0;
#pragma unroll
    for (int i = 0; i < column_rows; ++i) sum += sums[i][column];
    store_sum(plan, result, offset[1], sum, out, partial);
}

template <class In, class Out>
void launch(const In* in, Out* out, double* partial, const Plan& plan, cudaStream_t stream) {
    if (plan.innermost_is_kept)
        sum_columns<In, Out>
            <<<dim3(ceil_divide(plan.results, columns), plan.parts), threads, 0, stream>>>(in, out, partial, plan);
    else if (plan.chunk > 1024)
        sum_rows<In, Out, threads><<<dim3(plan.results, plan.parts), threads, 0, stream>>>(in, out, partial, plan);
    else
        sum_rows<In, Out, warp_size>
            <<<dim3(ceil_divide(plan.results, threads / warp_size), plan.parts), threads, 0, stream>>>(in, out, partial,
                                                                                                       plan);
    check_launch("sum");
}

struct Dimension {
    std::int64_t size, in_stride, out_stride;
    bool kept;
};

// Enough blocks for any GPU of today. Not read off the device, so that the same shape gives the same bits everywhere.
constexpr std::int64_t enough_blocks = 512;

Plan plan_for(const View& in, const View& out) {
    std::vector<Dimension> dimensions;
    for (int i = in.rank() - 1; i >= 0; --i)
        if (in.shape[i] != 1) dimensions.push_back({in.shape[i], in.strides[i], out.strides[i], out.shape[i] != 1});
    // Innermost first: neighbouring threads then read neighbouring values, whatever the layout.
    std::stable_sort(dimensions.begin(), dimensions.end(),
                     [](const Dimension& a, const Dimension& b) { return a.in_stride < b.in_stride; });
    const std::int64_t results = out.elements(), length = in.elements() / results;
    check(std::max(results, length) < std::int64_t{1} << 31, "sum: ", in.shape, " to ", out.shape, " is too large");
    Plan plan;
    for (const Dimension& dimension : dimensions) {
        if (dimension.kept)
            plan.kept.push(dimension.size, {dimension.in_stride, dimension.out_stride});
        else
            plan.reduced.push(dimension.size, {dimension.in_stride});
    }
    plan.results = static_cast<std::uint32_t>(results);
    plan.length = static_cast<std::uint32_t>(length);
    plan.innermost_is_kept = !dimensions.empty() && dimensions.front().kept;
    const std::int64_t least = plan.innermost_is_kept ? 64 : 4096;
    const std::int64_t blocks = plan.innermost_is_kept ? ceil_divide(results, columns) : results;
    const std::int64_t parts = std::max<std::int64_t>(1, std::min(enough_blocks / blocks, length / least));
    plan.chunk = ceil_divide(length, parts);
    plan.parts = ceil_divide(length, plan.chunk);
    return plan;
}

// The second pass: the parts of each sum lie side by side, the results where they were to go.
Plan plan_for_parts(const Plan& first) {
    Plan plan = first;
    std::int64_t stride = first.parts;
    for (int dim = 0; dim < plan.kept.rank; ++dim) {
        plan.kept.strides[dim][0] = stride;
        stride *= plan.kept.sizes[dim].size;
    }
    plan.reduced = {};
    plan.reduced.push(first.parts, {1});
    plan.length = plan.chunk = first.parts;
    plan.parts = 1;
    plan.innermost_is_kept = false;
    return plan;
}

void reduce(const char* name, const View& in, const View& out, double divisor) {
    if (out.elements() == 0) return;
    if (in.elements() == 0) return kernels::fill.on(out.device)(0 / divisor, out);
    const cudaStream_t stream = stream_of(out.device.index);
    Plan plan = plan_for(in, out);
    plan.divisor = divisor;
    visit_float(in.dtype, name, [&]<class T>(Type<T>) {
        if (plan.parts == 1) return launch(in.as<const T>(), out.as<T>(), nullptr, plan, stream);
        const Workspace<double> partial(out.device, std::int64_t{plan.parts} * plan.results);
        launch(in.as<const T>(), out.as<T>(), partial.data(), plan, stream);
        launch<double>(partial.data(), out.as<T>(), nullptr, plan_for_parts(plan), stream);
    });
}

void sum_on_cuda(const View& in, const View& out) { reduce("sum", in, out, 1); }

void mean_on_cuda(const View& in, const View& out) {
    if (out.elements() == 0) return;
    reduce("mean", in, out, static_cast<double>(in.elements()) / static_cast<double>(out.elements()));
}

const RegisterKernel register_sum{kernels::sum, DeviceKind::CUDA, sum_on_cuda};
const RegisterKernel register_mean{kernels::mean, DeviceKind::CUDA, mean_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
