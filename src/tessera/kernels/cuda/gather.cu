#include "tessera/kernels/gather.h"

#include "tessera/kernels/cuda/indices.h"
#include "tessera/kernels/cuda/scatter_rows.h"
#include "tessera/kernels/cuda/strided.h"

namespace tessera::kernels::cuda {
namespace {

constexpr int threads = 256;

void check_range(const View& index, std::int64_t size, const char* who) {
    const std::optional<std::int64_t> outside = find_outside(index, size, who);
    check(!outside, who, ": index ", outside.value_or(0), " is out of range for size ", size);
}

// `view` as it is met along an index: of the index's shape, standing still along `dim`.
View across(View view, int dim, const View& index) {
    view.shape = index.shape;
    view.strides[dim] = 0;
    return view;
}

// Values are moved as they are, so only their size matters. An index out of range leaves its place alone.
template <class T, class Index>
__global__ void gather_kernel(const __grid_constant__ StridedPiece<3> piece, std::int64_t size, std::int64_t step) {
    const std::uint32_t number = blockIdx.x * threads + threadIdx.x;
    if (number >= piece.elements) return;
    const auto offset = piece.dimensions.offsets(number);
    const std::int64_t at = static_cast<const Index*>(piece.data[1])[offset[1]];
    if (at < 0 || at >= size) return;
    static_cast<T*>(piece.data[2])[offset[2]] = static_cast<const T*>(piece.data[0])[offset[0] + at * step];
}

template <class T>
void run_gather(const View& in, int dim, const View& index, const View& out) {
    const cudaStream_t stream = stream_of(out.device.index);
    const View lines = across(in, dim, index);
    visit_index(index.dtype, "gather", [&]<class Index>(Type<Index>) {
        StridedWalk<3>({&lines, &index, &out}, 1).pieces([&](const StridedPiece<3>& piece) {
            gather_kernel<T, Index>
                <<<ceil_divide(piece.elements, threads), threads, 0, stream>>>(piece, in.shape[dim], in.strides[dim]);
            check_launch("gather");
        });
    });
}

void gather_on_cuda(const View& in, int dim, const View& index, const View& out) {
    visit_plain(in.dtype, "gather", [](auto) {});
    check_range(index, in.shape[dim], "gather");
    switch (info(in.dtype).block_bytes) {
        case 1: return run_gather<std::uint8_t>(in, dim, index, out);
        case 2: return run_gather<std::uint16_t>(in, dim, index, out);
        case 4: return run_gather<std::uint32_t>(in, dim, index, out);
        default: return run_gather<std::uint64_t>(in, dim, index, out);
    }
}

// One thread walks a line along `dim` in order: the same bits every time. The piece has `dim` of size 1.
struct ScatterSteps {
    std::int64_t length, size, index, source, into;
};

template <class T, class Index>
__global__ void scatter_add_kernel(const __grid_constant__ StridedPiece<3> piece, ScatterSteps steps) {
    const std::uint32_t number = blockIdx.x * threads + threadIdx.x;
    if (number >= piece.elements) return;
    const auto offset = piece.dimensions.offsets(number);
    const Index* index = static_cast<const Index*>(piece.data[0]) + offset[0];
    const T* source = static_cast<const T*>(piece.data[1]) + offset[1];
    T* into = static_cast<T*>(piece.data[2]) + offset[2];
    for (std::int64_t i = 0; i < steps.length; ++i) {
        const std::int64_t at = index[i * steps.index];
        if (at >= 0 && at < steps.size) into[at * steps.into] += source[i * steps.source];
    }
}

template <class T, class Index>
void run_scatter(int dim, const View& index, const View& source, const View& into) {
    const ScatterSteps steps{.length = index.shape[dim],
                             .size = into.shape[dim],
                             .index = index.strides[dim],
                             .source = source.strides[dim],
                             .into = into.strides[dim]};
    Shape outer = index.shape;
    outer[dim] = 1;
    View indices = index, sources = source, sums = into;
    indices.shape = sources.shape = sums.shape = outer;
    const cudaStream_t stream = stream_of(into.device.index);
    StridedWalk<3>({&indices, &sources, &sums}, 1).pieces([&](const StridedPiece<3>& piece) {
        scatter_add_kernel<T, Index><<<ceil_divide(piece.elements, threads), threads, 0, stream>>>(piece, steps);
        check_launch("scatter_add");
    });
}

// Whole rows, one index for each: an embedding's gradient.
bool moves_rows(int dim, const View& index) { return index.rank() == 2 && dim == 0 && index.strides[1] == 0; }

void scatter_add_on_cuda(int dim, const View& index, const View& source, const View& into) {
    check(source.dtype == into.dtype && (into.dtype == DType::F32 || into.dtype == DType::F64),
          "scatter_add: kernel needs f32 or f64, not ", source.dtype, " into ", into.dtype);
    if (index.elements() == 0) return;
    check_range(index, into.shape[dim], "scatter_add");
    if (moves_rows(dim, index)) {
        View ids = index;
        ids.shape = {index.shape[0]};
        ids.strides = {index.strides[0]};
        return scatter_rows(ids, source, into, true);
    }
    visit_index(index.dtype, "scatter_add", [&]<class Index>(Type<Index>) {
        if (into.dtype == DType::F32)
            run_scatter<float, Index>(dim, index, source, into);
        else
            run_scatter<double, Index>(dim, index, source, into);
    });
}

const RegisterKernel register_gather{kernels::gather, DeviceKind::CUDA, gather_on_cuda};
const RegisterKernel register_scatter_add{kernels::scatter_add, DeviceKind::CUDA, scatter_add_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
