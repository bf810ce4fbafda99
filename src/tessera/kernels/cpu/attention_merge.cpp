// Two softmaxes over disjoint keys made one: each output weighs in with its share of the sum of exponentials.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tessera/core/parallel.h"
#include "tessera/kernels/attention.h"
#include "tessera/kernels/cpu/convert.h"

namespace tessera::kernels::cpu {
namespace {

// Of one query and head; returns the share of the first part.
template <class T>
T merge_log_sums(T first, T second, T& merged) {
    const T largest = std::max(first, second);
    if (largest == -std::numeric_limits<T>::infinity()) {
        merged = largest;
        return 0;
    }
    const T from_first = std::exp(first - largest), from_second = std::exp(second - largest);
    merged = largest + std::log(from_first + from_second);
    return from_first / (from_first + from_second);
}

template <class T, class Out>
void merge(const kernels::AttentionParts& parts) {
    const std::int64_t time = parts.out.size(1), heads = parts.out.size(2), width = parts.out.size(3);
    parallel_for(parts.out.size(0) * time, 16, [&](std::int64_t begin, std::int64_t end) {
        std::vector<T> row(static_cast<std::size_t>(width));
        for (std::int64_t i = begin; i < end; ++i)
            for (std::int64_t head = 0; head < heads; ++head) {
                const std::int64_t sum = (i / time * heads + head) * time + i % time, at = (i * heads + head) * width;
                const T share = merge_log_sums(parts.first_log_sum.as<const T>()[sum],
                                               parts.second_log_sum.as<const T>()[sum], parts.log_sum.as<T>()[sum]);
                const T* first = parts.first_out.as<const T>() + at;
                const T* second = parts.second_out.as<const T>() + at;
                for (std::int64_t j = 0; j < width; ++j)
                    row[static_cast<std::size_t>(j)] = share * first[j] + (1 - share) * second[j];
                store_row(row.data(), parts.out.as<Out>() + at, 1, width);
            }
    });
}

void merge_on_cpu(const kernels::AttentionParts& parts) {
    visit_float(parts.out.dtype, "attention_merge", [&]<class Out>(Type<Out>) {
        if (parts.first_out.dtype == DType::F64)
            merge<double, Out>(parts);
        else
            merge<float, Out>(parts);
    });
}

const RegisterKernel register_merge{kernels::attention_merge, DeviceKind::CPU, merge_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
