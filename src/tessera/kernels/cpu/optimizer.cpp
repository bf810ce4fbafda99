#include "tessera/kernels/optimizer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/core/parallel.h"
#include "tessera/kernels/cpu/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/optimizer.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "tessera/kernels/cpu/row_math-inl.h"

#ifndef TESSERA_OPTIMIZER_ROWS
#define TESSERA_OPTIMIZER_ROWS
namespace tessera::kernels::cpu {

// One block of the flat buffers, with the step's constants in the type they are used in.
template <class T>
struct SgdRow {
    T *values, *momentum;
    const T* gradients;
    T learning_rate, momentum_factor, weight_decay;
    bool nesterov, first;
};

template <class T>
struct AdamWRow {
    T *values, *first_moment, *second_moment;
    const T* gradients;
    T keep;                        // 1 − lr·weight_decay
    T beta1, beta2, rest1, rest2;  // rest = 1 − beta
    T step_size;                   // lr / (1 − beta1^t)
    T correction;                  // 1 / √(1 − beta2^t)
    T epsilon;
};

}  // namespace tessera::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct SgdAt {
    SgdRow<T> row;

    template <class Place>
    HWY_INLINE void operator()(Place at) const {
        const row::Tag<T> d;
        const auto value = at.load(row.values);
        const auto gradient = hn::MulAdd(hn::Set(d, row.weight_decay), value, at.load(row.gradients));
        auto direction = gradient;
        if (row.momentum != nullptr) {
            const auto factor = hn::Set(d, row.momentum_factor);
            if (!row.first) direction = hn::MulAdd(factor, at.load(row.momentum), gradient);
            at.store(direction, row.momentum);
            if (row.nesterov) direction = hn::MulAdd(factor, direction, gradient);
        }
        at.store(hn::NegMulAdd(hn::Set(d, row.learning_rate), direction, value), row.values);
    }
};

template <class T>
struct AdamWAt {
    AdamWRow<T> row;

    template <class Place>
    HWY_INLINE void operator()(Place at) const {
        const row::Tag<T> d;
        const auto gradient = at.load(row.gradients);
        const auto first =
            hn::MulAdd(hn::Set(d, row.beta1), at.load(row.first_moment), hn::Mul(hn::Set(d, row.rest1), gradient));
        const auto second = hn::MulAdd(hn::Set(d, row.beta2), at.load(row.second_moment),
                                       hn::Mul(hn::Mul(hn::Set(d, row.rest2), gradient), gradient));
        at.store(first, row.first_moment);
        at.store(second, row.second_moment);
        const auto root = hn::MulAdd(hn::Sqrt(second), hn::Set(d, row.correction), hn::Set(d, row.epsilon));
        const auto kept = hn::Mul(at.load(row.values), hn::Set(d, row.keep));
        at.store(hn::NegMulAdd(hn::Set(d, row.step_size), hn::Div(first, root), kept), row.values);
    }
};

template <class T>
struct ScaleAt {
    T* x;
    T factor;

    template <class Place>
    HWY_INLINE void operator()(Place at) const {
        const row::Tag<T> d;
        at.store(hn::Mul(at.load(x), hn::Set(d, factor)), x);
    }
};

void sgd_f32(const SgdRow<float>& row, std::int64_t count) { row::walk<float>(count, SgdAt<float>{row}); }
void sgd_f64(const SgdRow<double>& row, std::int64_t count) { row::walk<double>(count, SgdAt<double>{row}); }
void adamw_f32(const AdamWRow<float>& row, std::int64_t count) { row::walk<float>(count, AdamWAt<float>{row}); }
void adamw_f64(const AdamWRow<double>& row, std::int64_t count) { row::walk<double>(count, AdamWAt<double>{row}); }
void scale_f32(float* x, double factor, std::int64_t count) {
    row::walk<float>(count, ScaleAt<float>{x, static_cast<float>(factor)});
}
void scale_f64(double* x, double factor, std::int64_t count) { row::walk<double>(count, ScaleAt<double>{x, factor}); }

// Σ x² in f64: squares of f32 neither overflow nor lose the small among the large. The last elements pass through a
// zero-padded buffer.
template <class T>
HWY_INLINE double squares(const T* x, std::int64_t count) {
    const hn::ScalableTag<double> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto load = [d](const T* from) HWY_ATTR {
        if constexpr (std::is_same_v<T, float>)
            return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, decltype(d)>(), from));
        else
            return hn::LoadU(d, from);
    };
    auto even = hn::Zero(d), odd = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
        const auto a = load(x + i), b = load(x + i + lanes);
        even = hn::MulAdd(a, a, even);
        odd = hn::MulAdd(b, b, odd);
    }
    T last[2 * hn::MaxLanes(d)] = {};
    std::copy(x + i, x + count, last);
    const auto a = load(last), b = load(last + lanes);
    even = hn::MulAdd(a, a, even);
    odd = hn::MulAdd(b, b, odd);
    return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}
double squares_f32(const float* x, std::int64_t count) { return squares(x, count); }
double squares_f64(const double* x, std::int64_t count) { return squares(x, count); }

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {
namespace {

HWY_EXPORT(sgd_f32);
HWY_EXPORT(sgd_f64);
HWY_EXPORT(adamw_f32);
HWY_EXPORT(adamw_f64);
HWY_EXPORT(scale_f32);
HWY_EXPORT(scale_f64);
HWY_EXPORT(squares_f32);
HWY_EXPORT(squares_f64);

constexpr std::int64_t block = 8192;  // elements: four buffers of a block stay in the second-level cache

// Calls body(first, count) for every block of the flat buffers.
template <class Body>
void over_blocks(std::int64_t count, const Body& body) {
    parallel_for((count + block - 1) / block, 2, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) body(i * block, std::min(block, count - i * block));
    });
}

void round_block(const float* values, const View& rounded, std::int64_t first, std::int64_t count) {
    if (!rounded.defined()) return;
    if (rounded.dtype == DType::BF16)
        from_float(values, rounded.as<BFloat16>() + first, count);
    else
        from_float(values, rounded.as<Float16>() + first, count);
}

// Calls body(float{}) or body(double{}) for the dtype of the state.
template <class Body>
void visit_state(const char* who, DType dtype, const Body& body) {
    check(dtype == DType::F32 || dtype == DType::F64, who, ": state must be f32 or f64, not ", dtype);
    if (dtype == DType::F32)
        body(float{});
    else
        body(double{});
}

template <class T>
T* at(const View& view, std::int64_t first) {
    return view.defined() ? view.as<T>() + first : nullptr;
}

void sgd_on_cpu(const kernels::SgdStep& step, const kernels::SgdBuffers& buffers) {
    visit_state("sgd", buffers.values.dtype, [&]<class T>(T) {
        over_blocks(buffers.values.elements(), [&](std::int64_t first, std::int64_t count) {
            const SgdRow<T> row{.values = at<T>(buffers.values, first),
                                .momentum = at<T>(buffers.momentum, first),
                                .gradients = at<T>(buffers.gradients, first),
                                .learning_rate = static_cast<T>(step.learning_rate),
                                .momentum_factor = static_cast<T>(step.momentum),
                                .weight_decay = static_cast<T>(step.weight_decay),
                                .nesterov = step.nesterov,
                                .first = step.first};
            if constexpr (std::is_same_v<T, float>) {
                HWY_DYNAMIC_DISPATCH(sgd_f32)(row, count);
                round_block(row.values, buffers.rounded, first, count);
            } else {
                HWY_DYNAMIC_DISPATCH(sgd_f64)(row, count);
            }
        });
    });
}

void adamw_on_cpu(const kernels::AdamWStep& step, const kernels::AdamWBuffers& buffers) {
    const auto number = static_cast<double>(step.number);
    const double step_size = step.learning_rate / (1 - std::pow(step.beta1, number));
    const double correction = 1 / std::sqrt(1 - std::pow(step.beta2, number));
    visit_state("adamw", buffers.values.dtype, [&]<class T>(T) {
        over_blocks(buffers.values.elements(), [&](std::int64_t first, std::int64_t count) {
            const AdamWRow<T> row{.values = at<T>(buffers.values, first),
                                  .first_moment = at<T>(buffers.first_moment, first),
                                  .second_moment = at<T>(buffers.second_moment, first),
                                  .gradients = at<T>(buffers.gradients, first),
                                  .keep = static_cast<T>(1 - step.learning_rate * step.weight_decay),
                                  .beta1 = static_cast<T>(step.beta1),
                                  .beta2 = static_cast<T>(step.beta2),
                                  .rest1 = static_cast<T>(1 - step.beta1),
                                  .rest2 = static_cast<T>(1 - step.beta2),
                                  .step_size = static_cast<T>(step_size),
                                  .correction = static_cast<T>(correction),
                                  .epsilon = static_cast<T>(step.epsilon)};
            if constexpr (std::is_same_v<T, float>) {
                HWY_DYNAMIC_DISPATCH(adamw_f32)(row, count);
                round_block(row.values, buffers.rounded, first, count);
            } else {
                HWY_DYNAMIC_DISPATCH(adamw_f64)(row, count);
            }
        });
    });
}

void squared_norm_on_cpu(const View& x, const View& out) {
    const std::int64_t count = x.elements();
    std::vector<double> sums(static_cast<std::size_t>((count + block - 1) / block));
    visit_state("squared_norm", x.dtype, [&]<class T>(T) {
        over_blocks(count, [&](std::int64_t first, std::int64_t length) {
            double& sum = sums[static_cast<std::size_t>(first / block)];
            if constexpr (std::is_same_v<T, float>)
                sum = HWY_DYNAMIC_DISPATCH(squares_f32)(x.as<float>() + first, length);
            else
                sum = HWY_DYNAMIC_DISPATCH(squares_f64)(x.as<double>() + first, length);
        });
    });
    double total = 0;
    for (const double sum : sums) total += sum;
    *out.as<double>() = total;
}

void scale_in_place_on_cpu(double factor, const View& x) {
    visit_state("scale_in_place", x.dtype, [&]<class T>(T) {
        over_blocks(x.elements(), [&](std::int64_t first, std::int64_t count) {
            if constexpr (std::is_same_v<T, float>)
                HWY_DYNAMIC_DISPATCH(scale_f32)(x.as<float>() + first, factor, count);
            else
                HWY_DYNAMIC_DISPATCH(scale_f64)(x.as<double>() + first, factor, count);
        });
    });
}

const RegisterKernel register_sgd{kernels::sgd, DeviceKind::CPU, sgd_on_cpu};
const RegisterKernel register_adamw{kernels::adamw, DeviceKind::CPU, adamw_on_cpu};
const RegisterKernel register_squared_norm{kernels::squared_norm, DeviceKind::CPU, squared_norm_on_cpu};
const RegisterKernel register_scale_in_place{kernels::scale_in_place, DeviceKind::CPU, scale_in_place_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
#endif
