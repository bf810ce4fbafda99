#include "tessera/kernels/gated.h"

#include "tessera/kernels/cuda/elementwise.h"
#include "tessera/kernels/cuda/functions.h"

namespace tessera::kernels::cuda {
namespace {

struct Silu {
    template <class T>
    static __device__ T value(T x) {
        return functions::silu(x);
    }
    template <class T>
    static __device__ T derivative(T x) {
        return functions::silu_derivative(x);
    }
};
struct Gelu {
    template <class T>
    static __device__ T value(T x) {
        return functions::gelu(x);
    }
    template <class T>
    static __device__ T derivative(T x) {
        return functions::gelu_derivative(x);
    }
};
struct GeluTanh {
    template <class T>
    static __device__ T value(T x) {
        return functions::gelu_tanh(x);
    }
    template <class T>
    static __device__ T derivative(T x) {
        return functions::gelu_tanh_derivative(x);
    }
};

template <class Activation>
struct Gate {
    template <class T>
    __device__ T operator()(T gate, T up) const {
        return Activation::value(gate) * up;
    }
};

template <class Activation>
void gated_on_cuda(const View& gate, const View& up, const View& out) {
    map_on_cuda<3>("gated", {&gate, &up, &out}, Gate<Activation>{});
}

template <class T, class Activation, int size>
__global__ void gated_backward_kernel(const __grid_constant__ StridedPiece<5> piece) {
    const std::uint32_t number = blockIdx.x * elementwise_threads + threadIdx.x;
    if (number >= ceil_divide(piece.elements, size)) return;
    const auto offset = piece.dimensions.offsets(number);
    const std::uint32_t count = piece.elements_at(number);
    const auto gate = load_pack<T, size>(piece, 0, offset[0], count);
    const auto up = load_pack<T, size>(piece, 1, offset[1], count);
    const auto dout = load_pack<T, size>(piece, 2, offset[2], count);
    Pack<T, size> dgate, dup;
#pragma unroll
    for (int i = 0; i < size; ++i) {
        const auto x = widen(gate.value[i]), gradient = widen(dout.value[i]);
        dgate.value[i] = convert_to<T>(gradient * widen(up.value[i]) * Activation::derivative(x));
        dup.value[i] = convert_to<T>(gradient * Activation::value(x));
    }
    store_pack(piece, 3, offset[3], count, dgate);
    store_pack(piece, 4, offset[4], count, dup);
}

template <class Activation>
void gated_backward_on_cuda(const View& gate, const View& up, const View& dout, const View& dgate, const View& dup) {
    const cudaStream_t stream = stream_of(dout.device.index);
    visit_float(dout.dtype, "gated_backward", [&]<class T>(Type<T>) {
        constexpr int size = 16 / sizeof(T);
        StridedWalk<5>({&gate, &up, &dout, &dgate, &dup}, size).pieces([&](const StridedPiece<5>& piece) {
            const unsigned blocks = ceil_divide(piece.numbers(), elementwise_threads);
            if (piece.pack == size)
                gated_backward_kernel<T, Activation, size><<<blocks, elementwise_threads, 0, stream>>>(piece);
            else
                gated_backward_kernel<T, Activation, 1><<<blocks, elementwise_threads, 0, stream>>>(piece);
            check_launch("gated_backward");
        });
    });
}

const RegisterKernel register_swiglu{kernels::swiglu, DeviceKind::CUDA, gated_on_cuda<Silu>};
const RegisterKernel register_geglu{kernels::geglu, DeviceKind::CUDA, gated_on_cuda<Gelu>};
const RegisterKernel register_geglu_tanh{kernels::geglu_tanh, DeviceKind::CUDA, gated_on_cuda<GeluTanh>};
const RegisterKernel register_swiglu_backward{kernels::swiglu_backward, DeviceKind::CUDA, gated_backward_on_cuda<Silu>};
const RegisterKernel register_geglu_backward{kernels::geglu_backward, DeviceKind::CUDA, gated_backward_on_cuda<Gelu>};
const RegisterKernel register_geglu_tanh_backward{kernels::geglu_tanh_backward, DeviceKind::CUDA,
                                                  gated_backward_on_cuda<GeluTanh>};

}  // namespace
}  // namespace tessera::kernels::cuda
