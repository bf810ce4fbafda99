#include "tessera/kernels/cpu/quantised_rows.h"

#include <algorithm>
#include <cstring>

#include "tessera/core/parallel.h"
#include "tessera/kernels/cpu/convert.h"

namespace tessera::kernels::cpu {
namespace {

constexpr std::int64_t chunk = 1024;  // values at a time: whole blocks of every dtype

// values [first, first + count) of a row as floats, in `buffer` or where they stand
const float* load(const View& view, const std::byte* row, std::int64_t first, std::int64_t count, float* buffer) {
    const DTypeInfo& facts = info(view.dtype);
    if (facts.codec) {
        facts.codec->decode(row + first / facts.block_elements * facts.block_bytes, buffer,
                            count / facts.block_elements);
        return buffer;
    }
    const std::int64_t stride = view.stride(-1);
    return visit_float(view.dtype, "copy", [&]<class T>(Type<T>) {
        return load_row<float>(reinterpret_cast<const T*>(row) + first * stride, stride, count, buffer);
    });
}

void store(const View& view, std::byte* row, std::int64_t first, std::int64_t count, const float* values) {
    const DTypeInfo& facts = info(view.dtype);
    if (facts.codec)
        return facts.codec->encode(values, row + first / facts.block_elements * facts.block_bytes,
                                   count / facts.block_elements);
    const std::int64_t stride = view.stride(-1);
    visit_float(view.dtype, "copy", [&]<class T>(Type<T>) {
        store_row(values, reinterpret_cast<T*>(row) + first * stride, stride, count);
    });
}

}  // namespace

QuantisedRows::QuantisedRows(const View& view, const char* who)
    : view_(view), block_elements_(info(view.dtype).block_elements), block_bytes_(info(view.dtype).block_bytes) {
    check(view.rank() >= 1, who, ": a scalar of ", view.dtype, " holds no block");
    if (!is_quantised(view.dtype)) return;
    bool whole = view.row_length() % block_elements_ == 0 && (view.stride(-1) == 1 || view.elements() == 0);
    for (int dim = 0; dim + 1 < view.rank(); ++dim)
        whole = whole && (view.shape[dim] == 1 || view.strides[dim] % block_elements_ == 0);
    check(whole, who, ": rows of ", view.dtype, " must be whole blocks of ", block_elements_,
          " values in order, not shape ", view.shape, " with strides ", view.strides);
}

std::byte* QuantisedRows::row(std::int64_t index) const {
    std::int64_t offset = 0;
    for (int dim = view_.rank() - 2; dim >= 0; --dim) {
        offset += index % view_.shape[dim] * view_.strides[dim];
        index /= view_.shape[dim];
    }
    return static_cast<std::byte*>(view_.data) + offset / block_elements_ * block_bytes_;
}

void copy_quantised(const View& from, const View& to) {
    const QuantisedRows sources(from, "copy"), targets(to, "copy");
    const std::int64_t length = from.row_length();
    if (from.elements() == 0) return;
    const std::int64_t grain = std::max<std::int64_t>(1, 8192 / length);
    parallel_for(from.rows(), grain, [&](std::int64_t begin, std::int64_t end) {
        float buffer[chunk];
        for (std::int64_t r = begin; r < end; ++r) {
            const std::byte* source = sources.row(r);
            std::byte* target = targets.row(r);
            if (from.dtype == to.dtype) {
                std::memcpy(target, source, static_cast<std::size_t>(bytes_of(to.dtype, length)));
                continue;
            }
            const bool in_place = to.dtype == DType::F32 && to.stride(-1) == 1;
            for (std::int64_t i = 0; i < length; i += chunk) {
                const std::int64_t count = std::min(chunk, length - i);
                float* room = in_place ? reinterpret_cast<float*>(target) + i : buffer;
                store(to, target, i, count, load(from, source, i, count, room));
            }
        }
    });
}

}  // namespace tessera::kernels::cpu
