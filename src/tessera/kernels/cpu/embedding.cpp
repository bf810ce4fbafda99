#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "tessera/core/parallel.h"
#include "tessera/kernels/cpu/convert.h"
#include "tessera/kernels/cpu/quantised_rows.h"
#include "tessera/kernels/cpu/scratch.h"
#include "tessera/kernels/gather.h"
#include "tessera/kernels/memory.h"

namespace tessera::kernels::cpu {
namespace {

// The ids one after the other, each within the vocabulary.
class CheckedIds {
   public:
    CheckedIds(const View& ids, std::int64_t vocabulary) : ids_(ids.elements()) {
        visit_index(ids.dtype, "embedding", [&]<class Index>(Type<Index>) {
            for (std::int64_t n = 0; n < ids.elements(); ++n) {
                const std::int64_t id = ids.as<Index>()[n * ids.strides[0]];
                check(id >= 0 && id < vocabulary, "embedding: id ", id, " is outside the vocabulary of ", vocabulary);
                ids_.data()[n] = id;
            }
        });
    }
    std::int64_t operator[](std::int64_t n) const { return ids_.data()[n]; }

   private:
    Scratch<std::int64_t> ids_;
};

template <class T>
void copy_rows(const View& table, const CheckedIds& ids, const View& out, std::int64_t grain) {
    const std::int64_t width = out.shape[1];
    parallel_for(out.shape[0], grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n) {
            const T* from = table.as<T>() + ids[n] * table.strides[0];
            T* to = out.as<T>() + n * out.strides[0];
            if (table.strides[1] == 1 && out.strides[1] == 1)
                std::copy_n(from, width, to);
            else
                for (std::int64_t i = 0; i < width; ++i) to[i * out.strides[1]] = from[i * table.strides[1]];
        }
    });
}

void decode_rows(const View& table, const CheckedIds& ids, const View& out, std::int64_t grain) {
    check(out.is_contiguous() && out.dtype == DType::F32, "embedding: a table of ", table.dtype, " gives f32");
    const QuantisedRows rows(table, "embedding");
    const std::int64_t width = out.shape[1];
    const DTypeInfo& facts = info(table.dtype);
    parallel_for(out.shape[0], grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n)
            facts.codec->decode(rows.row(ids[n]), out.as<float>() + n * width, width / facts.block_elements);
    });
}

void embedding_on_cpu(const View& table, const View& ids, const View& out) {
    const CheckedIds list(ids, table.shape[0]);
    const std::int64_t grain = std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, out.shape[1]));
    if (is_quantised(table.dtype)) return decode_rows(table, list, out, grain);
    visit_float(table.dtype, "embedding", [&]<class T>(Type<T>) { copy_rows<T>(table, list, out, grain); });
}

constexpr std::int64_t column_block = 512;

// Sums the gradients of one id, `positions` being where it occurs, over one block of columns.
template <class T>
void sum_rows_of(const std::int64_t* positions, std::int64_t count, const View& gradient, T* out,
                 std::int64_t out_stride, std::int64_t first, std::int64_t width) {
    using Compute = compute_t<T>;
    Compute sum[column_block] = {}, buffer[column_block];
    for (std::int64_t i = 0; i < count; ++i) {
        const T* row = gradient.as<T>() + positions[i] * gradient.strides[0] + first * gradient.strides[1];
        const Compute* values = load_row<Compute>(row, gradient.strides[1], width, buffer);
        for (std::int64_t j = 0; j < width; ++j) sum[j] += values[j];
    }
    store_row(sum, out + first * out_stride, out_stride, width);
}

void embedding_backward_on_cpu(const View& ids, const View& gradient, const View& table_gradient) {
    kernels::fill.on(tessera::cpu)(0, table_gradient);
    const CheckedIds list(ids, table_gradient.shape[0]);
    // Positions grouped by id, in order within an id: each id is then summed by one thread, in order.
    std::vector<std::int64_t> order(static_cast<std::size_t>(ids.elements()));
    std::iota(order.begin(), order.end(), 0);
    const auto id_at = [&](std::int64_t position) { return list[position]; };
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return id_at(a) < id_at(b); });
    std::vector<std::int64_t> starts;
    for (std::size_t i = 0; i < order.size(); ++i)
        if (i == 0 || id_at(order[i]) != id_at(order[i - 1])) starts.push_back(static_cast<std::int64_t>(i));
    const auto groups = static_cast<std::int64_t>(starts.size());
    starts.push_back(static_cast<std::int64_t>(order.size()));

    const std::int64_t width = gradient.shape[1], blocks = (width + column_block - 1) / column_block;
    const std::int64_t grain =
        std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, std::min(width, column_block)));
    visit_float(gradient.dtype, "embedding_backward", [&]<class T>(Type<T>) {
        parallel_for(groups * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t unit = begin; unit < end; ++unit) {
                const auto group = static_cast<std::size_t>(unit / blocks);
                const std::int64_t first = unit % blocks * column_block;
                const std::int64_t* positions = order.data() + starts[group];
                T* out = table_gradient.as<T>() + id_at(positions[0]) * table_gradient.strides[0];
                sum_rows_of(positions, starts[group + 1] - starts[group], gradient, out, table_gradient.strides[1],
                            first, std::min(column_block, width - first));
            }
        });
    });
}

const RegisterKernel register_embedding{kernels::embedding, DeviceKind::CPU, embedding_on_cpu};
const RegisterKernel register_embedding_backward{kernels::embedding_backward, DeviceKind::CPU,
                                                 embedding_backward_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
