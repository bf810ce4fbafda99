#include "tessera/kernels/memory.h"

#include "tessera/kernels/cuda/quantised_rows.h"
#include "tessera/kernels/cuda/strided.h"

namespace tessera::kernels::cuda {
namespace {

constexpr int threads = 256;

template <class From, class To, int size>
__global__ void copy_kernel(const __grid_constant__ StridedPiece<2> piece) {
    const std::uint32_t number = blockIdx.x * threads + threadIdx.x;
    if (number >= ceil_divide(piece.elements, size)) return;
    const auto offset = piece.dimensions.offsets(number);
    const std::uint32_t count = piece.elements_at(number);
    const auto from = load_pack<From, size>(piece, 0, offset[0], count);
    Pack<To, size> to;
#pragma unroll
    for (int i = 0; i < size; ++i) to.value[i] = convert_to<To>(from.value[i]);
    store_pack(piece, 1, offset[1], count, to);
}

template <class From, class To>
void run_copy(const View& from, const View& to) {
    constexpr int size = 16 / std::max(sizeof(From), sizeof(To));
    const cudaStream_t stream = stream_of(to.device.index);
    StridedWalk<2>({&from, &to}, size).pieces([&](const StridedPiece<2>& piece) {
        const unsigned blocks = ceil_divide(piece.numbers(), threads);
        if (piece.pack == size)
            copy_kernel<From, To, size><<<blocks, threads, 0, stream>>>(piece);
        else
            copy_kernel<From, To, 1><<<blocks, threads, 0, stream>>>(piece);
        check_launch("copy");
    });
}

// Moving values as they are needs to know their size only.
void copy_same(const View& from, const View& to) {
    const std::size_t bytes = static_cast<std::size_t>(info(to.dtype).block_bytes);
    if (from.is_contiguous() && to.is_contiguous()) {
        driver(DeviceKind::CUDA).copy(to.data, to.device, from.data, from.device, bytes * from.elements());
        return;
    }
    switch (bytes) {
        case 1: return run_copy<std::uint8_t, std::uint8_t>(from, to);
        case 2: return run_copy<std::uint16_t, std::uint16_t>(from, to);
        case 4: return run_copy<std::uint32_t, std::uint32_t>(from, to);
        default: return run_copy<std::uint64_t, std::uint64_t>(from, to);
    }
}

// Between floats: packed. With integers on either side speed does not matter, so one kernel per destination reads
// any source.
template <class To>
__global__ void convert_kernel(const __grid_constant__ StridedPiece<2> piece, DType from) {
    const std::uint32_t number = blockIdx.x * threads + threadIdx.x;
    if (number >= piece.elements) return;
    const auto offset = piece.dimensions.offsets(number);
    const auto read = [&]<class From>(Type<From>) {
        static_cast<To*>(piece.data[1])[offset[1]] = convert_to<To>(static_cast<const From*>(piece.data[0])[offset[0]]);
    };
    switch (from) {
        case DType::F64: return read(Type<double>{});
        case DType::F32: return read(Type<float>{});
        case DType::BF16: return read(Type<BFloat16>{});
        case DType::F16: return read(Type<Float16>{});
        case DType::I64: return read(Type<std::int64_t>{});
        case DType::I32: return read(Type<std::int32_t>{});
        case DType::U8: return read(Type<std::uint8_t>{});
        default: return read(Type<bool>{});
    }
}

void copy_on_cuda(const View& from, const View& to) {
    if (is_quantised(from.dtype) || is_quantised(to.dtype)) return copy_quantised_on_cuda(from, to);
    visit_plain(from.dtype, "copy", [](auto) {});
    if (from.dtype == to.dtype) return copy_same(from, to);
    if (is_float(from.dtype) && is_float(to.dtype))
        return visit_float(from.dtype, "copy", [&]<class From>(Type<From>) {
            visit_float(to.dtype, "copy", [&]<class To>(Type<To>) { run_copy<From, To>(from, to); });
        });
    const cudaStream_t stream = stream_of(to.device.index);
    visit_plain(to.dtype, "copy", [&]<class To>(Type<To>) {
        StridedWalk<2>({&from, &to}, 1).pieces([&](const StridedPiece<2>& piece) {
            convert_kernel<To><<<ceil_divide(piece.elements, threads), threads, 0, stream>>>(piece, from.dtype);
            check_launch("copy");
        });
    });
}

template <class T, int size>
__global__ void fill_kernel(const __grid_constant__ StridedPiece<1> piece, double value) {
    const std::uint32_t number = blockIdx.x * threads + threadIdx.x;
    if (number >= ceil_divide(piece.elements, size)) return;
    Pack<T, size> pack;
#pragma unroll
    for (int i = 0; i < size; ++i) pack.value[i] = convert_to<T>(value);
    store_pack(piece, 0, piece.dimensions.offsets(number)[0], piece.elements_at(number), pack);
}

void fill_on_cuda(double value, const View& to) {
    const cudaStream_t stream = stream_of(to.device.index);
    visit_plain(to.dtype, "fill", [&]<class T>(Type<T>) {
        constexpr int size = 16 / sizeof(T);
        StridedWalk<1>({&to}, size).pieces([&](const StridedPiece<1>& piece) {
            const unsigned blocks = ceil_divide(piece.numbers(), threads);
            if (piece.pack == size)
                fill_kernel<T, size><<<blocks, threads, 0, stream>>>(piece, value);
            else
                fill_kernel<T, 1><<<blocks, threads, 0, stream>>>(piece, value);
            check_launch("fill");
        });
    });
}

template <class From, class Into, int size>
__global__ void accumulate_kernel(const __grid_constant__ StridedPiece<2> piece) {
    using Compute = std::conditional_t<std::is_same_v<From, double> || std::is_same_v<Into, double>, double, float>;
    const std::uint32_t number = blockIdx.x * threads + threadIdx.x;
    if (number >= ceil_divide(piece.elements, size)) return;
    const auto offset = piece.dimensions.offsets(number);
    const std::uint32_t count = piece.elements_at(number);
    const auto more = load_pack<From, size>(piece, 0, offset[0], count);
    auto sum = load_pack<Into, size>(piece, 1, offset[1], count);
#pragma unroll
    for (int i = 0; i < size; ++i)
        sum.value[i] = convert_to<Into>(convert_to<Compute>(more.value[i]) + convert_to<Compute>(sum.value[i]));
    store_pack(piece, 1, offset[1], count, sum);
}

void accumulate_on_cuda(const View& from, const View& into) {
    const cudaStream_t stream = stream_of(into.device.index);
    visit_float(from.dtype, "accumulate", [&]<class From>(Type<From>) {
        visit_float(into.dtype, "accumulate", [&]<class Into>(Type<Into>) {
            constexpr int size = 16 / std::max(sizeof(From), sizeof(Into));
            StridedWalk<2>({&from, &into}, size).pieces([&](const StridedPiece<2>& piece) {
                const unsigned blocks = ceil_divide(piece.numbers(), threads);
                if (piece.pack == size)
                    accumulate_kernel<From, Into, size><<<blocks, threads, 0, stream>>>(piece);
                else
                    accumulate_kernel<From, Into, 1><<<blocks, threads, 0, stream>>>(piece);
                check_launch("accumulate");
            });
        });
    });
}

const RegisterKernel register_copy{kernels::copy, DeviceKind::CUDA, copy_on_cuda};
const RegisterKernel register_fill{kernels::fill, DeviceKind::CUDA, fill_on_cuda};
const RegisterKernel register_accumulate{kernels::accumulate, DeviceKind::CUDA, accumulate_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
