// Rotary embedding. A block takes one position of one row: sines and cosines are computed once, in double precision,
// and used for all its heads.
#include "tessera/kernels/rope.h"

#include "tessera/kernels/cuda/stream.h"
#include "tessera/kernels/cuda/values.h"

namespace tessera::kernels::cuda {
namespace {

constexpr int threads = 256;
constexpr int most_pairs = 128;  // whose sines are held at a time

struct RopeStrides {
    std::int64_t batch, time, head, element;

    explicit RopeStrides(const View& view)
        : batch(view.strides[0]), time(view.strides[1]), head(view.strides[2]), element(view.strides[3]) {}
};

template <class T>
struct RopeTask {
    const T* x;
    T* out;
    RopeStrides x_strides, out_strides;
    const std::int64_t* positions;
    std::int64_t position_batch, position_time;
    const float* inverse_frequencies;
    std::int64_t time, heads, width, pairs;
    double magnitude, sine_factor;
    bool adjacent;
};

template <class T>
__device__ void rotate_pair(const RopeTask<T>& task, const T* x, T* out, std::int64_t pair, compute_t<T> sine,
                            compute_t<T> cosine) {
    const std::int64_t left = task.adjacent ? 2 * pair : pair, right = task.adjacent ? left + 1 : pair + task.pairs;
    const auto a = widen(x[left * task.x_strides.element]), b = widen(x[right * task.x_strides.element]);
    out[left * task.out_strides.element] = convert_to<T>(a * cosine - b * sine);
    out[right * task.out_strides.element] = convert_to<T>(b * cosine + a * sine);
}

template <class T>
__global__ void __launch_bounds__(threads) rope_kernel(const __grid_constant__ RopeTask<T> task) {
    using Compute = compute_t<T>;
    __shared__ Compute sines[most_pairs], cosines[most_pairs];
    const std::int64_t batch = blockIdx.x / task.time, time = blockIdx.x % task.time;
    const T* x = task.x + batch * task.x_strides.batch + time * task.x_strides.time;
    T* out = task.out + batch * task.out_strides.batch + time * task.out_strides.time;
    const auto position = static_cast<float>(task.positions[batch * task.position_batch + time * task.position_time]);
    for (std::int64_t first = 0; first < task.pairs; first += most_pairs) {
        const int count = static_cast<int>(::min(std::int64_t{most_pairs}, task.pairs - first));
        __syncthreads();  // the sines of the pairs before these have been used
        if (threadIdx.x < count) {
            const float angle = __fmul_rn(task.inverse_frequencies[first + threadIdx.x], position);
            double sine, cosine;
            sincos(static_cast<double>(angle), &sine, &cosine);
            sines[threadIdx.x] = static_cast<Compute>(sine * task.sine_factor);
            cosines[threadIdx.x] = static_cast<Compute>(cosine * task.magnitude);
        }
        __syncthreads();
        for (std::int64_t i = threadIdx.x; i < task.heads * count; i += threads) {
            const std::int64_t head = i / count;
            const int pair = static_cast<int>(i % count);
            rotate_pair(task, x + head * task.x_strides.head, out + head * task.out_strides.head, first + pair,
                        sines[pair], cosines[pair]);
        }
    }
    const std::int64_t rest = task.width - 2 * task.pairs;
    for (std::int64_t i = threadIdx.x; i < task.heads * rest; i += threads) {
        const std::int64_t head = i / rest, element = 2 * task.pairs + i % rest;
        out[head * task.out_strides.head + element * task.out_strides.element] =
            x[head * task.x_strides.head + element * task.x_strides.element];
    }
}

void rope_on_cuda(const kernels::Rope& rope) {
    if (rope.x.elements() == 0) return;
    const std::int64_t places = rope.x.shape[0] * rope.x.shape[1];
    check(places < std::int64_t{1} << 31, "rope: ", rope.x.shape, " has too many positions");
    visit_float(rope.x.dtype, "rope", [&]<class T>(Type<T>) {
        const RopeTask<T> task{.x = rope.x.as<const T>(),
                               .out = rope.out.as<T>(),
                               .x_strides = RopeStrides(rope.x),
                               .out_strides = RopeStrides(rope.out),
                               .positions = rope.positions.as<const std::int64_t>(),
                               .position_batch = rope.positions.strides[0],
                               .position_time = rope.positions.strides[1],
                               .inverse_frequencies = rope.inverse_frequencies.as<const float>(),
                               .time = rope.x.shape[1],
                               .heads = rope.x.shape[2],
                               .width = rope.x.shape[3],
                               .pairs = rope.inverse_frequencies.elements(),
                               .magnitude = rope.magnitude,
                               .sine_factor = rope.inverse ? -rope.magnitude : rope.magnitude,
                               .adjacent = rope.adjacent};
        rope_kernel<<<static_cast<unsigned>(places), threads, 0, stream_of(rope.out.device.index)>>>(task);
        check_launch("rope");
    });
}

const RegisterKernel register_rope{kernels::rope, DeviceKind::CUDA, rope_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
