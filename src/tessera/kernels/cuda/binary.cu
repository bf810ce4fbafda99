#include "tessera/kernels/binary.h"

#include "tessera/kernels/cuda/strided.h"

namespace tessera::kernels::cuda {
namespace {

constexpr int threads = 256;

template <class T, class Operation, int size>
__global__ void binary_kernel(const __grid_constant__ StridedPiece<3> piece, Operation operation) {
    const std::uint32_t number = blockIdx.x * threads + threadIdx.x;
    if (number >= ceil_divide(piece.elements, size)) return;
    const auto offset = piece.dimensions.offsets(number);
    const std::uint32_t count = piece.elements_at(number);
    const auto a = load_pack<T, size>(piece, 0, offset[0], count);
    const auto b = load_pack<T, size>(piece, 1, offset[1], count);
    Pack<T, size> out;
#pragma unroll
    for (int i = 0; i < size; ++i) out.value[i] = convert_to<T>(operation(widen(a.value[i]), widen(b.value[i])));
    store_pack(piece, 2, offset[2], count, out);
}

template <class T, class Operation>
void run(const char* name, const View& a, const View& b, const View& out, Operation operation) {
    constexpr int size = 16 / sizeof(T);
    const cudaStream_t stream = stream_of(out.device.index);
    StridedWalk<3>({&a, &b, &out}, size).pieces([&](const StridedPiece<3>& piece) {
        const unsigned blocks = ceil_divide(piece.numbers(), threads);
        if (piece.pack == size)
            binary_kernel<T, Operation, size><<<blocks, threads, 0, stream>>>(piece, operation);
        else
            binary_kernel<T, Operation, 1><<<blocks, threads, 0, stream>>>(piece, operation);
        check_launch(name);
    });
}

struct Add {
    static constexpr const char* name = "add";
    template <class T>
    __device__ T operator()(T a, T b) const {
        return a + b;
    }
};
struct Sub {
    static constexpr const char* name = "sub";
    template <class T>
    __device__ T operator()(T a, T b) const {
        return a - b;
    }
};
struct Mul {
    static constexpr const char* name = "mul";
    template <class T>
    __device__ T operator()(T a, T b) const {
        return a * b;
    }
};
struct Div {
    static constexpr const char* name = "div";
    template <class T>
    __device__ T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>)
            return b == 0 ? T(0) : a / b;
        else
            return a / b;
    }
};

template <class Operation>
void binary_on_cuda(const View& a, const View& b, const View& out) {
    const auto visitor = [&]<class T>(Type<T>) { run<T>(Operation::name, a, b, out, Operation{}); };
    if (is_float(out.dtype)) return visit_float(out.dtype, Operation::name, visitor);
    visit_index(out.dtype, Operation::name, visitor);
}

const RegisterKernel register_add{kernels::add, DeviceKind::CUDA, binary_on_cuda<Add>};
const RegisterKernel register_sub{kernels::sub, DeviceKind::CUDA, binary_on_cuda<Sub>};
const RegisterKernel register_mul{kernels::mul, DeviceKind::CUDA, binary_on_cuda<Mul>};
const RegisterKernel register_div{kernels::div, DeviceKind::CUDA, binary_on_cuda<Div>};

}  // namespace
}  // namespace tessera::kernels::cuda
