#include "tessera/kernels/recurrent.h"

#include <algorithm>
#include <type_traits>

#include "tessera/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/recurrent.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "tessera/kernels/cpu/row_math-inl.h"

#ifndef TESSERA_RECURRENT_ROWS
#define TESSERA_RECURRENT_ROWS
namespace tessera::kernels::cpu {

// The rows of one batch entry; gate k of a row starts at k·width.
template <class T>
struct CellRow {
    std::int64_t width;
    const T *input, *hidden, *previous_state, *previous_cell;
    T *output, *cell, *gates;
};

template <class T>
struct CellGradientRow {
    std::int64_t width;
    const T *output, *cell, *previous_state, *previous_cell, *gates, *output_gradient;
    T *state_gradient, *cell_gradient, *input_gradient, *hidden_gradient;
};

}  // namespace tessera::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// exp stays finite within the clamp, and beyond it σ is 0 or 1 to the last bit anyway. x stands second so that a NaN
// comes through.
template <class D, class V>
HWY_INLINE V sigmoid(D d, V x) {
    using T = hn::TFromD<D>;
    const T limit = std::is_same_v<T, float> ? T(87) : T(700);
    const V clamped = hn::Min(hn::Set(d, limit), hn::Max(hn::Set(d, -limit), x));
    const V one = hn::Set(d, T(1));
    return hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(clamped))));
}

// y·(1 − y) and 1 − y²: the slopes of σ and tanh in terms of their values.
template <class D, class V>
HWY_INLINE V sigmoid_slope(D, V y) {
    return hn::NegMulAdd(y, y, y);
}
template <class D, class V>
HWY_INLINE V tanh_slope(D d, V y) {
    return hn::NegMulAdd(y, y, hn::Set(d, hn::TFromD<D>(1)));
}

template <class T, bool relu>
struct RnnAt {
    CellRow<T> row;

    template <class Place>
    HWY_INLINE void operator()(Place at) const {
        const row::Tag<T> d;
        const auto sum = hn::Add(at.load(row.input), at.load(row.hidden));
        at.store(relu ? hn::Max(hn::Zero(d), sum) : hn::Tanh(d, sum), row.output);
    }
};

template <class T, bool relu>
struct RnnGradientAt {
    CellGradientRow<T> row;

    template <class Place>
    HWY_INLINE void operator()(Place at) const {
        const row::Tag<T> d;
        const auto output = at.load(row.output);
        const auto gradient = hn::Add(at.load(row.output_gradient), at.load(row.state_gradient));
        const auto result =
            relu ? hn::IfThenElseZero(hn::Gt(output, hn::Zero(d)), gradient) : hn::Mul(gradient, tanh_slope(d, output));
        at.store(result, row.input_gradient);
        at.store(hn::Zero(d), row.state_gradient);
    }
};

template <class T>
struct GruAt {
    CellRow<T> row;

    template <class Place>
    HWY_INLINE void operator()(Place at) const {
        const row::Tag<T> d;
        const std::int64_t at_z = row.width, at_n = 2 * row.width, at_hidden = 3 * row.width;
        const auto r = sigmoid(d, hn::Add(at.load(row.input), at.load(row.hidden)));
        const auto z = sigmoid(d, hn::Add(at.load(row.input + at_z), at.load(row.hidden + at_z)));
        const auto hidden = at.load(row.hidden + at_n);
        const auto n = hn::Tanh(d, hn::MulAdd(r, hidden, at.load(row.input + at_n)));
        at.store(r, row.gates);
        at.store(z, row.gates + at_z);
        at.store(n, row.gates + at_n);
        at.store(hidden, row.gates + at_hidden);
        at.store(hn::MulAdd(z, hn::Sub(at.load(row.previous_state), n), n), row.output);
    }
};

template <class T>
struct GruGradientAt {
    CellGradientRow<T> row;

    template <class Place>
    HWY_INLINE void operator()(Place at) const {
        const row::Tag<T> d;
        const std::int64_t at_z = row.width, at_n = 2 * row.width, at_hidden = 3 * row.width;
        const auto r = at.load(row.gates), z = at.load(row.gates + at_z);
        const auto n = at.load(row.gates + at_n), hidden = at.load(row.gates + at_hidden);
        const auto gradient = hn::Add(at.load(row.output_gradient), at.load(row.state_gradient));
        const auto kept = hn::Mul(gradient, z);
        const auto to_n = hn::Mul(hn::Sub(gradient, kept), tanh_slope(d, n));
        const auto to_z = hn::Mul(hn::Mul(gradient, hn::Sub(at.load(row.previous_state), n)), sigmoid_slope(d, z));
        const auto to_r = hn::Mul(hn::Mul(to_n, hidden), sigmoid_slope(d, r));
        at.store(to_r, row.input_gradient);
        at.store(to_z, row.input_gradient + at_z);
        at.store(to_n, row.input_gradient + at_n);
        at.store(to_r, row.hidden_gradient);
        at.store(to_z, row.hidden_gradient + at_z);
        at.store(hn::Mul(to_n, r), row.hidden_gradient + at_n);
        at.store(kept, row.state_gradient);
    }
};

template <class T>
struct LstmAt {
    CellRow<T> row;

    template <class Place>
    HWY_INLINE auto sum(Place at, std::int64_t gate) const {
        return hn::Add(at.load(row.input + gate), at.load(row.hidden + gate));
    }

    template <class Place>
    HWY_INLINE void operator()(Place at) const {
        const row::Tag<T> d;
        const std::int64_t at_f = row.width, at_g = 2 * row.width, at_o = 3 * row.width;
        const auto in = sigmoid(d, sum(at, 0)), forget = sigmoid(d, sum(at, at_f));
        const auto fresh = hn::Tanh(d, sum(at, at_g)), out = sigmoid(d, sum(at, at_o));
        const auto cell = hn::MulAdd(forget, at.load(row.previous_cell), hn::Mul(in, fresh));
        at.store(in, row.gates);
        at.store(forget, row.gates + at_f);
        at.store(fresh, row.gates + at_g);
        at.store(out, row.gates + at_o);
        at.store(cell, row.cell);
        at.store(hn::Mul(out, hn::Tanh(d, cell)), row.output);
    }
};

template <class T>
struct LstmGradientAt {
    CellGradientRow<T> row;

    template <class Place>
    HWY_INLINE void operator()(Place at) const {
        const row::Tag<T> d;
        const std::int64_t at_f = row.width, at_g = 2 * row.width, at_o = 3 * row.width;
        const auto in = at.load(row.gates), forget = at.load(row.gates + at_f);
        const auto fresh = at.load(row.gates + at_g), out = at.load(row.gates + at_o);
        const auto squashed = hn::Tanh(d, at.load(row.cell));
        const auto gradient = hn::Add(at.load(row.output_gradient), at.load(row.state_gradient));
        const auto to_cell = hn::MulAdd(hn::Mul(gradient, out), tanh_slope(d, squashed), at.load(row.cell_gradient));
        at.store(hn::Mul(hn::Mul(to_cell, fresh), sigmoid_slope(d, in)), row.input_gradient);
        at.store(hn::Mul(hn::Mul(to_cell, at.load(row.previous_cell)), sigmoid_slope(d, forget)),
                 row.input_gradient + at_f);
        at.store(hn::Mul(hn::Mul(to_cell, in), tanh_slope(d, fresh)), row.input_gradient + at_g);
        at.store(hn::Mul(hn::Mul(gradient, squashed), sigmoid_slope(d, out)), row.input_gradient + at_o);
        at.store(hn::Mul(to_cell, forget), row.cell_gradient);
        at.store(hn::Zero(d), row.state_gradient);
    }
};

#define TESSERA_CELL(name, ...)                                                                          \
    void name##_f32(const CellRow<float>& row) { row::walk<float>(row.width, __VA_ARGS__<float>{row}); } \
    void name##_f64(const CellRow<double>& row) { row::walk<double>(row.width, __VA_ARGS__<double>{row}); }
#define TESSERA_CELL_GRADIENT(name, ...)                           \
    void name##_backward_f32(const CellGradientRow<float>& row) {  \
        row::walk<float>(row.width, __VA_ARGS__<float>{row});      \
    }                                                              \
    void name##_backward_f64(const CellGradientRow<double>& row) { \
        row::walk<double>(row.width, __VA_ARGS__<double>{row});    \
    }
template <class T>
using RnnTanhAt = RnnAt<T, false>;
template <class T>
using RnnReluAt = RnnAt<T, true>;
template <class T>
using RnnTanhGradientAt = RnnGradientAt<T, false>;
template <class T>
using RnnReluGradientAt = RnnGradientAt<T, true>;
TESSERA_CELL(rnn_tanh, RnnTanhAt)
TESSERA_CELL(rnn_relu, RnnReluAt)
TESSERA_CELL(gru, GruAt)
TESSERA_CELL(lstm, LstmAt)
TESSERA_CELL_GRADIENT(rnn_tanh, RnnTanhGradientAt)
TESSERA_CELL_GRADIENT(rnn_relu, RnnReluGradientAt)
TESSERA_CELL_GRADIENT(gru, GruGradientAt)
TESSERA_CELL_GRADIENT(lstm, LstmGradientAt)
#undef TESSERA_CELL
#undef TESSERA_CELL_GRADIENT

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {
namespace {

using kernels::RecurrentStep;
using kernels::RecurrentStepGradient;

bool is_over(const View& lengths, std::int64_t row, std::int64_t time) {
    return lengths.defined() && time >= lengths.as<std::int64_t>()[row * lengths.strides[0]];
}

template <class T>
T* row_of(const View& view, std::int64_t row) {
    return view.defined() ? view.as<T>() + row * view.strides[0] : nullptr;
}

template <class T>
void zero_row(const View& view, std::int64_t row) {
    if (view.defined()) std::fill_n(row_of<T>(view, row), view.size(1), T(0));
}

std::int64_t row_grain(std::int64_t width) {
    return std::max<std::int64_t>(1, 2048 / std::max<std::int64_t>(1, width));
}

template <class T>
void forward(const RecurrentStep& step, void (*cell)(const CellRow<T>&)) {
    const std::int64_t batch = step.output.size(0), width = step.output.size(1);
    parallel_for(batch, row_grain(width), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            if (is_over(step.lengths, row, step.time)) {
                zero_row<T>(step.output, row);
                zero_row<T>(step.cell, row);
                continue;
            }
            const CellRow<T> at{.width = width,
                                .input = row_of<T>(step.input, row),
                                .hidden = row_of<T>(step.hidden, row),
                                .previous_state = row_of<T>(step.previous_state, row),
                                .previous_cell = row_of<T>(step.previous_cell, row),
                                .output = row_of<T>(step.output, row),
                                .cell = row_of<T>(step.cell, row),
                                .gates = row_of<T>(step.gates, row)};
            cell(at);
            std::copy_n(at.output, width, row_of<T>(step.final_state, row));
            if (at.cell != nullptr) std::copy_n(at.cell, width, row_of<T>(step.final_cell, row));
        }
    });
}

template <class T>
void backward(const RecurrentStepGradient& step, void (*cell)(const CellGradientRow<T>&)) {
    const std::int64_t batch = step.output.size(0), width = step.output.size(1);
    parallel_for(batch, row_grain(width), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            if (is_over(step.lengths, row, step.time)) {  // the gradients of the final state wait for its last step
                zero_row<T>(step.input_gradient, row);
                zero_row<T>(step.hidden_gradient, row);
                continue;
            }
            cell({.width = width,
                  .output = row_of<T>(step.output, row),
                  .cell = row_of<T>(step.cell, row),
                  .previous_state = row_of<T>(step.previous_state, row),
                  .previous_cell = row_of<T>(step.previous_cell, row),
                  .gates = row_of<T>(step.gates, row),
                  .output_gradient = row_of<T>(step.output_gradient, row),
                  .state_gradient = row_of<T>(step.state_gradient, row),
                  .cell_gradient = row_of<T>(step.cell_gradient, row),
                  .input_gradient = row_of<T>(step.input_gradient, row),
                  .hidden_gradient = row_of<T>(step.hidden_gradient, row)});
        }
    });
}

#define TESSERA_CELL_KERNEL(name)                                                                               \
    HWY_EXPORT(name##_f32);                                                                                     \
    HWY_EXPORT(name##_f64);                                                                                     \
    HWY_EXPORT(name##_backward_f32);                                                                            \
    HWY_EXPORT(name##_backward_f64);                                                                            \
    void name##_on_cpu(const RecurrentStep& step) {                                                             \
        if (step.output.dtype == DType::F32) return forward(step, &HWY_DYNAMIC_DISPATCH(name##_f32));           \
        check(step.output.dtype == DType::F64, #name ": needs f32 or f64, not ", step.output.dtype);            \
        forward(step, &HWY_DYNAMIC_DISPATCH(name##_f64));                                                       \
    }                                                                                                           \
    void name##_backward_on_cpu(const RecurrentStepGradient& step) {                                            \
        if (step.output.dtype == DType::F32) return backward(step, &HWY_DYNAMIC_DISPATCH(name##_backward_f32)); \
        check(step.output.dtype == DType::F64, #name ": needs f32 or f64, not ", step.output.dtype);            \
        backward(step, &HWY_DYNAMIC_DISPATCH(name##_backward_f64));                                             \
    }                                                                                                           \
    const RegisterKernel fill_##name{kernels::name, DeviceKind::CPU, name##_on_cpu};                            \
    const RegisterKernel fill_##name##_backward{kernels::name##_backward, DeviceKind::CPU, name##_backward_on_cpu};
TESSERA_CELL_KERNEL(rnn_tanh)
TESSERA_CELL_KERNEL(rnn_relu)
TESSERA_CELL_KERNEL(gru)
TESSERA_CELL_KERNEL(lstm)
#undef TESSERA_CELL_KERNEL

}  // namespace
}  // namespace tessera::kernels::cpu
#endif
