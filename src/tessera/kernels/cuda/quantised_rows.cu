// Decoding runs on the device, a value per thread. Encoding, which happens when a model is quantised and not when it is
// used, goes through the host's codecs.
#include "tessera/kernels/cuda/quantised_rows.h"

#include <vector>

#include "tessera/kernels/cuda/quantised_blocks.h"
#include "tessera/kernels/cuda/strided.h"
#include "tessera/kernels/cuda/workspace.h"
#include "tessera/kernels/memory.h"

namespace tessera::kernels::cuda {
namespace {

constexpr int threads = 256;
constexpr std::int64_t most_elements = std::int64_t{1} << 30;  // of one launch

// Offsets count values: those of the quantised side stay within a row of whole blocks.
template <class Block, class To>
__global__ void decode_kernel(const __grid_constant__ StridedPiece<2> piece) {
    const std::uint32_t number = blockIdx.x * threads + threadIdx.x;
    if (number >= piece.elements) return;
    const auto offset = piece.dimensions.offsets(number);
    const auto* block = static_cast<const std::uint8_t*>(piece.data[0]) + offset[0] / Block::elements * Block::bytes;
    static_cast<To*>(piece.data[1])[offset[1]] =
        convert_to<To>(Block::value(block, static_cast<int>(offset[0] % Block::elements)));
}

// The index-th part of a view along its first dimension.
View part_of(View view, std::int64_t index) {
    view.data = view.as<std::byte>() + bytes_of(view.dtype, index * view.strides[0]);
    view.shape[0] = 1;
    return view;
}

void decode(const View& from, const View& to) {
    if (from.elements() > most_elements && from.rank() > 1) {
        if (from.shape[0] == 1) {  // the first dimension has nothing left to cut
            View inner_from = from, inner_to = to;
            for (View* view : {&inner_from, &inner_to}) {
                Shape shape, strides;
                for (int dim = 1; dim < view->rank(); ++dim) {
                    shape.push_back(view->shape[dim]);
                    strides.push_back(view->strides[dim]);
                }
                view->shape = shape;
                view->strides = strides;
            }
            return decode(inner_from, inner_to);
        }
        for (std::int64_t i = 0; i < from.shape[0]; ++i) decode(part_of(from, i), part_of(to, i));
        return;
    }
    const cudaStream_t stream = stream_of(to.device.index);
    visit_quantised(from.dtype, "copy", [&]<class Block>(Type<Block>) {
        visit_float(to.dtype, "copy", [&]<class To>(Type<To>) {
            StridedWalk<2>({&from, &to}, 1).pieces([&](const StridedPiece<2>& piece) {
                decode_kernel<Block, To><<<ceil_divide(piece.elements, threads), threads, 0, stream>>>(piece);
                check_launch("copy");
            });
        });
    });
}

// The same memory as rows of bytes.
View bytes_view(const View& view) {
    const DTypeInfo& facts = info(view.dtype);
    View bytes = view;
    bytes.dtype = DType::U8;
    for (int dim = 0; dim + 1 < view.rank(); ++dim)
        bytes.strides[dim] = view.strides[dim] / facts.block_elements * facts.block_bytes;
    bytes.shape[view.rank() - 1] = view.row_length() / facts.block_elements * facts.block_bytes;
    bytes.strides[view.rank() - 1] = 1;
    return bytes;
}

View dense_view(void* data, DType dtype, const View& like) {
    return {data, dtype, like.device, like.shape, contiguous_strides(like.shape)};
}

void encode(const View& from, const View& to) {
    const std::int64_t elements = from.elements(), bytes = bytes_of(to.dtype, elements);
    const Workspace<float> values(from.device, elements);
    kernels::copy.on(from.device)(from, dense_view(values.data(), DType::F32, from));
    std::vector<float> host(static_cast<std::size_t>(elements));
    const DeviceDriver& cuda_driver = driver(DeviceKind::CUDA);
    cuda_driver.copy(host.data(), cpu, values.data(), from.device, host.size() * sizeof(float));
    std::vector<std::byte> blocks(static_cast<std::size_t>(bytes));
    const DTypeInfo& facts = info(to.dtype);
    facts.codec->encode(host.data(), blocks.data(), elements / facts.block_elements);
    const Workspace<std::byte> encoded(to.device, bytes);
    cuda_driver.copy(encoded.data(), to.device, blocks.data(), cpu, blocks.size());
    kernels::copy.on(to.device)(bytes_view(dense_view(encoded.data(), to.dtype, to)), bytes_view(to));
}

}  // namespace

void check_whole_blocks(const View& view, const char* who) {
    check(view.rank() >= 1, who, ": a scalar of ", view.dtype, " holds no block");
    if (!is_quantised(view.dtype)) return;
    const std::int64_t elements = info(view.dtype).block_elements;
    bool whole = view.row_length() % elements == 0 && (view.stride(-1) == 1 || view.elements() == 0);
    for (int dim = 0; dim + 1 < view.rank(); ++dim)
        whole = whole && (view.shape[dim] == 1 || view.strides[dim] % elements == 0);
    check(whole, who, ": rows of ", view.dtype, " must be whole blocks of ", elements, " values in order, not shape ",
          view.shape, " with strides ", view.strides);
}

void copy_quantised_on_cuda(const View& from, const View& to) {
    check_whole_blocks(from, "copy");
    check_whole_blocks(to, "copy");
    if (from.elements() == 0) return;
    if (from.dtype == to.dtype) return kernels::copy.on(to.device)(bytes_view(from), bytes_view(to));
    if (is_quantised(to.dtype)) return encode(from, to);
    decode(from, to);
}

}  // namespace tessera::kernels::cuda
