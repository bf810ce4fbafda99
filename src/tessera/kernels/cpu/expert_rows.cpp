#include "tessera/kernels/expert_rows.h"

#include <algorithm>
#include <cstring>

#include "tessera/core/parallel.h"
#include "tessera/kernels/cpu/convert.h"

namespace tessera::kernels::cpu {
namespace {

constexpr std::int64_t block = 1024;  // values at a time, in buffers of the type we compute in

std::int64_t rows_at_once(std::int64_t width) {
    return std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, width));
}

void gather_rows_on_cpu(const View& x, const View& tokens, const View& out) {
    const std::int64_t bytes = bytes_of(x.dtype, x.shape[1]);
    const auto* from = x.as<std::byte>();
    auto* to = out.as<std::byte>();
    parallel_for(out.shape[0], rows_at_once(x.shape[1]), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            std::memcpy(to + bytes_of(x.dtype, row * out.strides[0]),
                        from + bytes_of(x.dtype, tokens.as<std::int64_t>()[row] * x.strides[0]),
                        static_cast<std::size_t>(bytes));
    });
}

template <class T>
void combine_token(const View& rows, const View& weights, const std::int64_t* positions, std::int64_t token,
                   std::int64_t k, T* out) {
    using Compute = compute_t<T>;
    Compute sums[block], buffer[block];
    for (std::int64_t first = 0; first < rows.shape[1]; first += block) {
        const std::int64_t count = std::min(block, rows.shape[1] - first);
        std::fill_n(sums, count, Compute(0));
        for (std::int64_t s = 0; s < k; ++s) {
            const T* row = rows.as<T>() + positions[s] * rows.strides[0] + first;
            const Compute* values = load_row<Compute>(row, 1, count, buffer);
            const Compute weight = weights.defined() ? static_cast<Compute>(weights.as<T>()[token * k + s]) : 1;
            for (std::int64_t i = 0; i < count; ++i) sums[i] += weight * values[i];
        }
        store_row<Compute>(sums, out + first, 1, count);
    }
}

void combine_rows_on_cpu(const View& rows, const View& weights, const View& positions, const View& out) {
    const std::int64_t k = positions.shape[1];
    visit_float(rows.dtype, "combine", [&]<class T>(Type<T>) {
        parallel_for(out.shape[0], rows_at_once(k * rows.shape[1]), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t token = begin; token < end; ++token)
                combine_token<T>(rows, weights, positions.as<std::int64_t>() + token * k, token, k,
                                 out.as<T>() + token * out.strides[0]);
        });
    });
}

// row_gradient = weight · gradient; returns gradient · row.
template <class T>
double combine_backward_pair(const T* gradient, const T* row, compute_t<T> weight, std::int64_t width,
                             T* row_gradient) {
    using Compute = compute_t<T>;
    Compute left[block], right[block], scaled[block];
    double dot = 0;
    for (std::int64_t first = 0; first < width; first += block) {
        const std::int64_t count = std::min(block, width - first);
        const Compute* g = load_row<Compute>(gradient + first, 1, count, left);
        const Compute* y = load_row<Compute>(row + first, 1, count, right);
        Compute sums[16] = {};
        std::int64_t i = 0;
        for (; i + 16 <= count; i += 16)
            for (int lane = 0; lane < 16; ++lane) sums[lane] += g[i + lane] * y[i + lane];
        for (; i < count; ++i) dot += static_cast<double>(g[i] * y[i]);
        for (const Compute sum : sums) dot += static_cast<double>(sum);
        for (std::int64_t j = 0; j < count; ++j) scaled[j] = weight * g[j];
        store_row<Compute>(scaled, row_gradient + first, 1, count);
    }
    return dot;
}

void combine_rows_backward_on_cpu(const View& gradient, const View& rows, const View& weights, const View& positions,
                                  const View& row_gradient, const View& weight_gradient) {
    const std::int64_t k = positions.shape[1], width = rows.shape[1];
    visit_float(rows.dtype, "combine", [&]<class T>(Type<T>) {
        parallel_for(gradient.shape[0], rows_at_once(k * width), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t pair = begin * k; pair < end * k; ++pair) {
                const std::int64_t position = positions.as<std::int64_t>()[pair];
                weight_gradient.as<T>()[pair] = convert<double, T>(combine_backward_pair<T>(
                    gradient.as<T>() + pair / k * gradient.strides[0], rows.as<T>() + position * rows.strides[0],
                    static_cast<compute_t<T>>(weights.as<T>()[pair]), width,
                    row_gradient.as<T>() + position * row_gradient.strides[0]));
            }
        });
    });
}

const RegisterKernel register_gather{kernels::gather_rows, DeviceKind::CPU, gather_rows_on_cpu};
const RegisterKernel register_combine{kernels::combine_rows, DeviceKind::CPU, combine_rows_on_cpu};
const RegisterKernel register_combine_backward{kernels::combine_rows_backward, DeviceKind::CPU,
                                               combine_rows_backward_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
