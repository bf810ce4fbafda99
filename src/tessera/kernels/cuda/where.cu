#include "tessera/kernels/where.h"

#include "tessera/kernels/cuda/strided.h"

namespace tessera::kernels::cuda {
namespace {

constexpr int threads = 256;

// Values are moved as they are, so only their size matters.
template <class T>
__global__ void where_kernel(const __grid_constant__ StridedPiece<4> piece) {
    const std::uint32_t number = blockIdx.x * threads + threadIdx.x;
    if (number >= piece.elements) return;
    const auto offset = piece.dimensions.offsets(number);
    const bool condition = static_cast<const bool*>(piece.data[0])[offset[0]];
    static_cast<T*>(piece.data[3])[offset[3]] =
        condition ? static_cast<const T*>(piece.data[1])[offset[1]] : static_cast<const T*>(piece.data[2])[offset[2]];
}

template <class T>
void run(const View& condition, const View& a, const View& b, const View& out) {
    const cudaStream_t stream = stream_of(out.device.index);
    StridedWalk<4>({&condition, &a, &b, &out}, 1).pieces([&](const StridedPiece<4>& piece) {
        where_kernel<T><<<ceil_divide(piece.elements, threads), threads, 0, stream>>>(piece);
        check_launch("where");
    });
}

void where_on_cuda(const View& condition, const View& a, const View& b, const View& out) {
    visit_plain(out.dtype, "where", [](auto) {});
    switch (info(out.dtype).block_bytes) {
        case 1: return run<std::uint8_t>(condition, a, b, out);
        case 2: return run<std::uint16_t>(condition, a, b, out);
        case 4: return run<std::uint32_t>(condition, a, b, out);
        default: return run<std::uint64_t>(condition, a, b, out);
    }
}

const RegisterKernel register_where{kernels::where, DeviceKind::CUDA, where_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
