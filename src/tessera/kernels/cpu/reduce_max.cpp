#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/core/parallel.h"
#include "tessera/kernels/reduce.h"

namespace tessera::kernels::cpu {
namespace {

template <class T>
bool is_larger(T a, T b) {
    return a > b || (std::isnan(a) && !std::isnan(b));
}

// The offset of the index-th position of `shape`.
std::int64_t offset_of(std::int64_t index, const Shape& shape, const Shape& strides) {
    std::int64_t offset = 0;
    for (int i = shape.rank() - 1; i >= 0; --i) {
        offset += index % shape[i] * strides[i];
        index /= shape[i];
    }
    return offset;
}

std::int64_t grain_for(std::int64_t length) {
    return std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, length));
}

void max_on_cpu(const View& in, int dim, const View& values, const View& indices) {
    const std::int64_t length = in.shape[dim], step = in.strides[dim];
    visit_float(in.dtype, "max", [&]<class T>(Type<T>) {
        using Compute = compute_t<T>;
        parallel_for(values.elements(), grain_for(length), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const T* line = in.as<T>() + offset_of(i, values.shape, in.strides);
                std::int64_t best = 0;
                Compute largest = line[0];
                for (std::int64_t j = 1; j < length; ++j) {
                    const Compute value = line[j * step];
                    if (!is_larger(value, largest)) continue;
                    largest = value;
                    best = j;
                }
                values.as<T>()[offset_of(i, values.shape, values.strides)] = line[best * step];
                indices.as<std::int64_t>()[offset_of(i, indices.shape, indices.strides)] = best;
            }
        });
    });
}

template <class Compute>
struct Candidate {
    Compute value;
    std::int64_t index;

    // Goes first in the result. Also the heap's order, which so has the weakest candidate in front.
    bool operator<(const Candidate& other) const {
        if (is_larger(value, other.value)) return true;
        if (is_larger(other.value, value)) return false;
        return index < other.index;
    }
};

// A heap of the k best so far: most values fail against its weakest and cost one comparison.
template <class T>
void top_k_of_row(const T* row, std::int64_t stride, std::int64_t length, std::vector<Candidate<compute_t<T>>>& best) {
    const auto k = static_cast<std::int64_t>(best.size());
    for (std::int64_t i = 0; i < k; ++i) best[static_cast<std::size_t>(i)] = {row[i * stride], i};
    std::make_heap(best.begin(), best.end());
    for (std::int64_t i = k; i < length; ++i) {
        const Candidate<compute_t<T>> candidate{row[i * stride], i};
        if (!(candidate < best.front())) continue;
        std::pop_heap(best.begin(), best.end());
        best.back() = candidate;
        std::push_heap(best.begin(), best.end());
    }
    std::sort_heap(best.begin(), best.end());
}

void top_k_on_cpu(const View& in, const View& values, const View& indices) {
    const int last = in.rank() - 1;
    const std::int64_t length = in.shape[last], k = values.shape[last];
    if (k == 0) return;
    Shape outer = in.shape;
    outer[last] = 1;
    visit_float(in.dtype, "top_k", [&]<class T>(Type<T>) {
        parallel_for(outer.elements(), grain_for(length), [&](std::int64_t begin, std::int64_t end) {
            std::vector<Candidate<compute_t<T>>> best(static_cast<std::size_t>(k));
            for (std::int64_t row = begin; row < end; ++row) {
                top_k_of_row(in.as<T>() + offset_of(row, outer, in.strides), in.strides[last], length, best);
                T* value = values.as<T>() + offset_of(row, outer, values.strides);
                auto* index = indices.as<std::int64_t>() + offset_of(row, outer, indices.strides);
                for (std::int64_t i = 0; i < k; ++i) {
                    value[i * values.strides[last]] = T(best[static_cast<std::size_t>(i)].value);
                    index[i * indices.strides[last]] = best[static_cast<std::size_t>(i)].index;
                }
            }
        });
    });
}

const RegisterKernel register_max{kernels::max, DeviceKind::CPU, max_on_cpu};
const RegisterKernel register_top_k{kernels::top_k, DeviceKind::CPU, top_k_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
