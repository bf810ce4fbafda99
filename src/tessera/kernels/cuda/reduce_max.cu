// The largest value along a dimension, and the k largest of each row. A group of threads shares a line: each finds the
// best of its own part, then they compare.
#include "tessera/kernels/cuda/block_sum.h"
#include "tessera/kernels/cuda/strided.h"
#include "tessera/kernels/reduce.h"

namespace tessera::kernels::cuda {
namespace {

constexpr int threads = 256;

template <class T>
__device__ bool is_larger(T a, T b) {
    return a > b || (isnan(a) && !isnan(b));
}

// An index of −1: no candidate.
template <class Compute>
struct Candidate {
    Compute value;
    std::int64_t index;

    __device__ bool goes_before(const Candidate& other) const {
        if (index < 0 || other.index < 0) return index >= 0;
        if (is_larger(value, other.value)) return true;
        if (is_larger(other.value, value)) return false;
        return index < other.index;
    }
};

// Every thread of the group gets its best candidate. `group` is a warp or the whole block.
template <int group, class Compute>
__device__ Candidate<Compute> best_of_group(Candidate<Compute> best) {
#pragma unroll
    for (int distance = warp_size / 2; distance > 0; distance /= 2) {
        const Candidate<Compute> other{__shfl_xor_sync(0xffffffffu, best.value, distance),
                                       __shfl_xor_sync(0xffffffffu, best.index, distance)};
        if (other.goes_before(best)) best = other;
    }
    if constexpr (group > warp_size) {
        __shared__ Compute values[group / warp_size];
        __shared__ std::int64_t indices[group / warp_size];
        __syncthreads();  // those of a call before this one have been read
        if (threadIdx.x % warp_size == 0) {
            values[threadIdx.x / warp_size] = best.value;
            indices[threadIdx.x / warp_size] = best.index;
        }
        __syncthreads();
        for (int warp = 0; warp < group / warp_size; ++warp) {
            const Candidate<Compute> other{values[warp], indices[warp]};
            if (other.goes_before(best)) best = other;
        }
    }
    return best;
}

struct LinePlan {
    Dimensions<3> lines;  // offsets into the values read, the values and the indices written
    std::uint32_t count = 1;
    std::int64_t length, k;  // of a line, and how many of it are wanted
    std::int64_t in_step, value_step, index_step;
};

template <class T, int group>
__global__ void __launch_bounds__(threads)
    best_kernel(const T* in, T* values, std::int64_t* indices, const __grid_constant__ LinePlan plan) {
    using Compute = compute_t<T>;
    const std::uint32_t line = blockIdx.x * (threads / group) + threadIdx.x / group;
    if (line >= plan.count) return;  // a whole group leaves together
    const auto offset = plan.lines.offsets(line);
    Candidate<Compute> last{0, -1};
    for (std::int64_t rank = 0; rank < plan.k; ++rank) {
        Candidate<Compute> best{0, -1};
        for (std::int64_t i = threadIdx.x % group; i < plan.length; i += group) {
            const Candidate<Compute> candidate{widen(in[offset[0] + i * plan.in_step]), i};
            if (last.index >= 0 && !last.goes_before(candidate)) continue;  // taken already
            if (candidate.goes_before(best)) best = candidate;
        }
        last = best_of_group<group>(best);
        if (threadIdx.x % group == 0) {
            values[offset[1] + rank * plan.value_step] = in[offset[0] + last.index * plan.in_step];
            indices[offset[2] + rank * plan.index_step] = last.index;
        }
    }
}

void run(const char* name, const View& in, int dim, const View& values, const View& indices) {
    LinePlan plan;
    plan.length = in.shape[dim];
    plan.k = values.shape[dim];
    plan.in_step = in.strides[dim];
    plan.value_step = values.strides[dim];
    plan.index_step = indices.strides[dim];
    if (values.elements() == 0) return;
    check(plan.k <= plan.length, name, ": ", plan.k, " of ", plan.length, " values");
    const std::int64_t count = values.elements() / plan.k;
    check(count < std::int64_t{1} << 31, name, ": ", in.shape, " has too many rows");
    plan.count = static_cast<std::uint32_t>(count);
    for (int i = in.rank() - 1; i >= 0; --i)
        if (i != dim && in.shape[i] != 1)
            plan.lines.push(in.shape[i], {in.strides[i], values.strides[i], indices.strides[i]});
    const cudaStream_t stream = stream_of(in.device.index);
    visit_float(in.dtype, name, [&]<class T>(Type<T>) {
        const T* from = in.as<const T>();
        auto* places = indices.as<std::int64_t>();
        if (plan.length > 1024)
            best_kernel<T, threads><<<plan.count, threads, 0, stream>>>(from, values.as<T>(), places, plan);
        else
            best_kernel<T, warp_size>
                <<<ceil_divide(count, threads / warp_size), threads, 0, stream>>>(from, values.as<T>(), places, plan);
        check_launch(name);
    });
}

void max_on_cuda(const View& in, int dim, const View& values, const View& indices) {
    run("max", in, dim, values, indices);
}

void top_k_on_cuda(const View& in, const View& values, const View& indices) {
    run("top_k", in, in.rank() - 1, values, indices);
}

const RegisterKernel register_max{kernels::max, DeviceKind::CUDA, max_on_cuda};
const RegisterKernel register_top_k{kernels::top_k, DeviceKind::CUDA, top_k_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
