#include "tessera/kernels/cuda/copy_rows.h"
#include "tessera/kernels/cuda/indices.h"
#include "tessera/kernels/cuda/quantised_blocks.h"
#include "tessera/kernels/cuda/quantised_rows.h"
#include "tessera/kernels/cuda/scatter_rows.h"
#include "tessera/kernels/cuda/stream.h"
#include "tessera/kernels/gather.h"
#include "tessera/kernels/memory.h"

namespace tessera::kernels::cuda {
namespace {

constexpr int threads = 256;

void check_ids(const View& ids, std::int64_t vocabulary) {
    const std::optional<std::int64_t> outside = find_outside(ids, vocabulary, "embedding");
    check(!outside, "embedding: id ", outside.value_or(0), " is outside the vocabulary of ", vocabulary);
}

// A block per row. Steps of the table in blocks of its dtype.
template <class Block, class Index>
__global__ void decode_rows_kernel(const std::uint8_t* table, std::int64_t row_step, std::int64_t vocabulary,
                                   const Index* ids, std::int64_t id_step, float* out, std::int64_t width) {
    const std::int64_t id = ids[blockIdx.x * id_step];
    const bool exists = id >= 0 && id < vocabulary;
    const std::uint8_t* row = table + (exists ? id : 0) * row_step * Block::bytes;
    out += blockIdx.x * width;
    for (std::int64_t i = threadIdx.x; i < width; i += threads)
        out[i] = exists ? Block::value(row + i / Block::elements * Block::bytes, static_cast<int>(i % Block::elements))
                        : 0.0f;
}

void decode_rows(const View& table, const View& ids, const View& out) {
    check(out.is_contiguous() && out.dtype == DType::F32, "embedding: a table of ", table.dtype, " gives f32");
    check_whole_blocks(table, "embedding");
    const std::int64_t elements = info(table.dtype).block_elements;
    check(out.shape[0] < std::int64_t{1} << 31, "embedding: ", out.shape, " are too many rows");
    visit_quantised(table.dtype, "embedding", [&]<class Block>(Type<Block>) {
        visit_index(ids.dtype, "embedding", [&]<class Index>(Type<Index>) {
            decode_rows_kernel<Block><<<static_cast<unsigned>(out.shape[0]), threads, 0, stream_of(out.device.index)>>>(
                table.as<const std::uint8_t>(), table.strides[0] / elements, table.shape[0], ids.as<const Index>(),
                ids.strides[0], out.as<float>(), out.shape[1]);
            check_launch("embedding");
        });
    });
}

void embedding_on_cuda(const View& table, const View& ids, const View& out) {
    check_ids(ids, table.shape[0]);
    if (out.elements() == 0) return;
    if (is_quantised(table.dtype)) return decode_rows(table, ids, out);
    visit_float(table.dtype, "embedding", [](auto) {});
    copy_rows(table, ids, out);
}

void embedding_backward_on_cuda(const View& ids, const View& gradient, const View& table_gradient) {
    check_ids(ids, table_gradient.shape[0]);
    kernels::fill.on(table_gradient.device)(0, table_gradient);
    scatter_rows(ids, gradient, table_gradient, false);
}

const RegisterKernel register_embedding{kernels::embedding, DeviceKind::CUDA, embedding_on_cuda};
const RegisterKernel register_embedding_backward{kernels::embedding_backward, DeviceKind::CUDA,
                                                 embedding_backward_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
