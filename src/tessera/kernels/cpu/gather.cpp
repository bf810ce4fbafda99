#include "tessera/kernels/gather.h"

#include <algorithm>

#include "tessera/core/parallel.h"

namespace tessera::kernels::cpu {
namespace {

// The positions of `shape` beyond `dim`, each a line along `dim`, in up to three views at once.
struct Lines {
    Shape outer;  // the shape with `dim` set to 1
    std::int64_t count;
    std::int64_t length;

    Lines(const Shape& shape, int dim) : outer(shape), length(shape[dim]) {
        outer[dim] = 1;
        count = outer.elements();
    }
    std::int64_t offset(std::int64_t line, const Shape& strides) const {
        std::int64_t offset = 0;
        for (int i = outer.rank() - 1; i >= 0; --i) {
            offset += line % outer[i] * strides[i];
            line /= outer[i];
        }
        return offset;
    }
    std::int64_t grain() const { return std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, length)); }
};

template <class Index>
std::int64_t checked(Index index, std::int64_t size, const char* who) {
    check(index >= 0 && index < size, who, ": index ", std::int64_t{index}, " is out of range for size ", size);
    return index;
}

template <class T, class Index>
void gather_lines(const View& in, int dim, const View& index, const View& out) {
    const Lines lines(index.shape, dim);
    const std::int64_t size = in.shape[dim], in_step = in.strides[dim], index_step = index.strides[dim],
                       out_step = out.strides[dim];
    parallel_for(lines.count, lines.grain(), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t line = begin; line < end; ++line) {
            const T* from = in.as<T>() + lines.offset(line, in.strides);
            const Index* at = index.as<Index>() + lines.offset(line, index.strides);
            T* to = out.as<T>() + lines.offset(line, out.strides);
            for (std::int64_t i = 0; i < lines.length; ++i)
                to[i * out_step] = from[checked(at[i * index_step], size, "gather") * in_step];
        }
    });
}

void gather_on_cpu(const View& in, int dim, const View& index, const View& out) {
    visit_plain(in.dtype, "gather", [&]<class T>(Type<T>) {
        visit_index(index.dtype, "gather",
                    [&]<class Index>(Type<Index>) { gather_lines<T, Index>(in, dim, index, out); });
    });
}

template <class T, class Index>
void scatter_lines(int dim, const View& index, const View& source, const View& into) {
    const Lines lines(index.shape, dim);
    const std::int64_t size = into.shape[dim], into_step = into.strides[dim], index_step = index.strides[dim],
                       source_step = source.strides[dim];
    parallel_for(lines.count, lines.grain(), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t line = begin; line < end; ++line) {
            T* to = into.as<T>() + lines.offset(line, into.strides);
            const Index* at = index.as<Index>() + lines.offset(line, index.strides);
            const T* from = source.as<T>() + lines.offset(line, source.strides);
            for (std::int64_t i = 0; i < lines.length; ++i)
                to[checked(at[i * index_step], size, "scatter_add") * into_step] += from[i * source_step];
        }
    });
}

void scatter_add_on_cpu(int dim, const View& index, const View& source, const View& into) {
    check(source.dtype == into.dtype && (into.dtype == DType::F32 || into.dtype == DType::F64),
          "scatter_add: kernel needs f32 or f64, not ", source.dtype, " into ", into.dtype);
    visit_index(index.dtype, "scatter_add", [&]<class Index>(Type<Index>) {
        if (into.dtype == DType::F32)
            scatter_lines<float, Index>(dim, index, source, into);
        else
            scatter_lines<double, Index>(dim, index, source, into);
    });
}

const RegisterKernel register_gather{kernels::gather, DeviceKind::CPU, gather_on_cpu};
const RegisterKernel register_scatter_add{kernels::scatter_add, DeviceKind::CPU, scatter_add_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
