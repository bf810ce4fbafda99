#include "tessera/kernels/contrastive.h"

#include <algorithm>
#include <cmath>

#include "tessera/core/parallel.h"
#include "tessera/kernels/cpu/convert.h"

namespace tessera::kernels::cpu {
namespace {

std::int64_t rows_at_once(std::int64_t width, std::int64_t work = 16384) {
    return std::max<std::int64_t>(1, work / std::max<std::int64_t>(1, width));
}

template <class T>
T* row_of(const View& view, std::int64_t row) {
    return view.as<T>() + row * view.strides[0];
}

// Sixteen sums side by side: the compiler may not reorder one.
template <class A, class B>
double dot(const A* a, const B* b, std::int64_t count) {
    using Compute = compute_t<A>;
    Compute sums[16] = {};
    std::int64_t i = 0;
    for (; i + 16 <= count; i += 16)
        for (int lane = 0; lane < 16; ++lane)
            sums[lane] += static_cast<Compute>(a[i + lane]) * static_cast<Compute>(b[i + lane]);
    double total = 0;
    for (; i < count; ++i) total += static_cast<double>(static_cast<Compute>(a[i]) * static_cast<Compute>(b[i]));
    for (const Compute sum : sums) total += static_cast<double>(sum);
    return total;
}

void scale_by_exp_on_cpu(const View& x, const View& log_factor, const View& y) {
    visit_float(x.dtype, "scale_by_exp", [&]<class T>(Type<T>) {
        using Compute = compute_t<T>;
        const Compute factor = std::exp(static_cast<Compute>(*log_factor.as<T>()));
        parallel_for(x.shape[0], rows_at_once(x.shape[1]), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i)
                for (std::int64_t j = 0; j < x.shape[1]; ++j)
                    row_of<T>(y, i)[j] = convert<Compute, T>(factor * static_cast<Compute>(row_of<T>(x, i)[j]));
        });
    });
}

template <class T>
double pair_sigmoid_row(const T* logits, std::int64_t row, std::int64_t count, T* gradient) {
    double loss = 0;
    for (std::int64_t j = 0; j < count; ++j) {
        const T sign = j == row ? T(1) : T(-1);
        const T margin = sign * logits[j];
        const T small = std::exp(-std::fabs(margin));  // in (0, 1]: neither form overflows
        loss += static_cast<double>(std::log1p(small) + std::max(-margin, T(0)));
        if (gradient) gradient[j] = -sign * (margin > 0 ? small : T(1)) / (1 + small);
    }
    return loss;
}

void pair_sigmoid_on_cpu(const View& logits, const View& losses, const View& gradient) {
    const auto run = [&]<class T>(Type<T>) {
        parallel_for(logits.shape[0], rows_at_once(logits.shape[1], 1024), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i)
                losses.as<T>()[i] = static_cast<T>(pair_sigmoid_row(
                    row_of<T>(logits, i), i, logits.shape[1], gradient.defined() ? row_of<T>(gradient, i) : nullptr));
        });
    };
    if (logits.dtype == DType::F64) return run(Type<double>{});
    check(logits.dtype == DType::F32, "pair_sigmoid: needs f32 or f64, not ", logits.dtype);
    run(Type<float>{});
}

void l2_normalise_on_cpu(const View& x, double eps, const View& y, const View& inverse_norms) {
    visit_float(x.dtype, "l2_normalise", [&]<class T>(Type<T>) {
        using Compute = compute_t<T>;
        parallel_for(x.shape[0], rows_at_once(x.shape[1]), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const T* row = row_of<T>(x, i);
                const double norm = std::sqrt(dot(row, row, x.shape[1]));
                const auto inverse = static_cast<Compute>(1 / std::max(norm, eps));
                inverse_norms.as<Compute>()[i] = inverse;
                for (std::int64_t j = 0; j < x.shape[1]; ++j)
                    row_of<T>(y, i)[j] = convert<Compute, T>(static_cast<Compute>(row[j]) * inverse);
            }
        });
    });
}

// y = x / n: dx = (g − y (g · y)) / n. A row shorter than eps is only divided by eps.
void l2_normalise_backward_on_cpu(const View& gradient, const View& y, const View& inverse_norms, double eps,
                                  const View& x_gradient) {
    visit_float(y.dtype, "l2_normalise", [&]<class T>(Type<T>) {
        using Compute = compute_t<T>;
        parallel_for(y.shape[0], rows_at_once(y.shape[1]), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const T *g = row_of<T>(gradient, i), *unit = row_of<T>(y, i);
                const Compute inverse = inverse_norms.as<Compute>()[i];
                const bool too_short = inverse >= static_cast<Compute>(1 / eps);
                const auto along = static_cast<Compute>(too_short ? 0 : dot(g, unit, y.shape[1]));
                for (std::int64_t j = 0; j < y.shape[1]; ++j)
                    row_of<T>(x_gradient, i)[j] = convert<Compute, T>(
                        inverse * (static_cast<Compute>(g[j]) - static_cast<Compute>(unit[j]) * along));
            }
        });
    });
}

const RegisterKernel register_scale{kernels::scale_by_exp, DeviceKind::CPU, scale_by_exp_on_cpu};
const RegisterKernel register_pairs{kernels::pair_sigmoid, DeviceKind::CPU, pair_sigmoid_on_cpu};
const RegisterKernel register_normalise{kernels::l2_normalise, DeviceKind::CPU, l2_normalise_on_cpu};
const RegisterKernel register_normalise_backward{kernels::l2_normalise_backward, DeviceKind::CPU,
                                                 l2_normalise_backward_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
