#include "tessera/kernels/recurrent.h"

#include <algorithm>
#include <type_traits>

#include "tessera/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/recurrent.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "tessera/kernels/cpu/over_vectors-inl.h"

#ifndef TESSERA_RECURRENT_ROWS
#define TESSERA_RECURRENT_ROWS
namespace tessera {

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

}  // namespace tessera
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
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

    template <class D>
    HWY_INLINE void operator()(D d, std::int64_t i) const {
        const auto sum = hn::Add(hn::LoadU(d, row.input + i), hn::LoadU(d, row.hidden + i));
        hn::StoreU(relu ? hn::Max(hn::Zero(d), sum) : hn::Tanh(d, sum), d, row.output + i);
    }
};

template <class T, bool relu>
struct RnnGradientAt {
    CellGradientRow<T> row;

    template <class D>
    HWY_INLINE void operator()(D d, std::int64_t i) const {
        const auto output = hn::LoadU(d, row.output + i);
        const auto gradient = hn::Add(hn::LoadU(d, row.output_gradient + i), hn::LoadU(d, row.state_gradient + i));
        const auto result =
            relu ? hn::IfThenElseZero(hn::Gt(output, hn::Zero(d)), gradient) : hn::Mul(gradient, tanh_slope(d, output));
        hn::StoreU(result, d, row.input_gradient + i);
        hn::StoreU(hn::Zero(d), d, row.state_gradient + i);
    }
};

template <class T>
struct GruAt {
    CellRow<T> row;

    template <class D>
    HWY_INLINE void operator()(D d, std::int64_t i) const {
        const std::int64_t at_z = row.width + i, at_n = 2 * row.width + i, at_hidden = 3 * row.width + i;
        const auto r = sigmoid(d, hn::Add(hn::LoadU(d, row.input + i), hn::LoadU(d, row.hidden + i)));
        const auto z = sigmoid(d, hn::Add(hn::LoadU(d, row.input + at_z), hn::LoadU(d, row.hidden + at_z)));
        const auto hidden = hn::LoadU(d, row.hidden + at_n);
        const auto n = hn::Tanh(d, hn::MulAdd(r, hidden, hn::LoadU(d, row.input + at_n)));
        hn::StoreU(r, d, row.gates + i);
        hn::StoreU(z, d, row.gates + at_z);
        hn::StoreU(n, d, row.gates + at_n);
        hn::StoreU(hidden, d, row.gates + at_hidden);
        hn::StoreU(hn::MulAdd(z, hn::Sub(hn::LoadU(d, row.previous_state + i), n), n), d, row.output + i);
    }
};

template <class T>
struct GruGradientAt {
    CellGradientRow<T> row;

    template <class D>
    HWY_INLINE void operator()(D d, std::int64_t i) const {
        const std::int64_t at_z = row.width + i, at_n = 2 * row.width + i, at_hidden = 3 * row.width + i;
        const auto r = hn::LoadU(d, row.gates + i), z = hn::LoadU(d, row.gates + at_z);
        const auto n = hn::LoadU(d, row.gates + at_n), hidden = hn::LoadU(d, row.gates + at_hidden);
        const auto gradient = hn::Add(hn::LoadU(d, row.output_gradient + i), hn::LoadU(d, row.state_gradient + i));
        const auto kept = hn::Mul(gradient, z);
        const auto to_n = hn::Mul(hn::Sub(gradient, kept), tanh_slope(d, n));
        const auto to_z =
            hn::Mul(hn::Mul(gradient, hn::Sub(hn::LoadU(d, row.previous_state + i), n)), sigmoid_slope(d, z));
        const auto to_r = hn::Mul(hn::Mul(to_n, hidden), sigmoid_slope(d, r));
        hn::StoreU(to_r, d, row.input_gradient + i);
        hn::StoreU(to_z, d, row.input_gradient + at_z);
        hn::StoreU(to_n, d, row.input_gradient + at_n);
        hn::StoreU(to_r, d, row.hidden_gradient + i);
        hn::StoreU(to_z, d, row.hidden_gradient + at_z);
        hn::StoreU(hn::Mul(to_n, r), d, row.hidden_gradient + at_n);
        hn::StoreU(kept, d, row.state_gradient + i);
    }
};

template <class T>
struct LstmAt {
    CellRow<T> row;

    template <class D>
    HWY_INLINE auto sum(D d, std::int64_t at) const {
        return hn::Add(hn::LoadU(d, row.input + at), hn::LoadU(d, row.hidden + at));
    }

    template <class D>
    HWY_INLINE void operator()(D d, std::int64_t i) const {
        const std::int64_t at_f = row.width + i, at_g = 2 * row.width + i, at_o = 3 * row.width + i;
        const auto in = sigmoid(d, sum(d, i)), forget = sigmoid(d, sum(d, at_f));
        const auto fresh = hn::Tanh(d, sum(d, at_g)), out = sigmoid(d, sum(d, at_o));
        const auto cell = hn::MulAdd(forget, hn::LoadU(d, row.previous_cell + i), hn::Mul(in, fresh));
        hn::StoreU(in, d, row.gates + i);
        hn::StoreU(forget, d, row.gates + at_f);
        hn::StoreU(fresh, d, row.gates + at_g);
        hn::StoreU(out, d, row.gates + at_o);
        hn::StoreU(cell, d, row.cell + i);
        hn::StoreU(hn::Mul(out, hn::Tanh(d, cell)), d, row.output + i);
    }
};

template <class T>
struct LstmGradientAt {
    CellGradientRow<T> row;

    template <class D>
    HWY_INLINE void operator()(D d, std::int64_t i) const {
        const std::int64_t at_f = row.width + i, at_g = 2 * row.width + i, at_o = 3 * row.width + i;
        const auto in = hn::LoadU(d, row.gates + i), forget = hn::LoadU(d, row.gates + at_f);
        const auto fresh = hn::LoadU(d, row.gates + at_g), out = hn::LoadU(d, row.gates + at_o);
        const auto squashed = hn::Tanh(d, hn::LoadU(d, row.cell + i));
        const auto gradient = hn::Add(hn::LoadU(d, row.output_gradient + i), hn::LoadU(d, row.state_gradient + i));
        const auto to_cell =
            hn::MulAdd(hn::Mul(gradient, out), tanh_slope(d, squashed), hn::LoadU(d, row.cell_gradient + i));
        hn::StoreU(hn::Mul(hn::Mul(to_cell, fresh), sigmoid_slope(d, in)), d, row.input_gradient + i);
        hn::StoreU(hn::Mul(hn::Mul(to_cell, hn::LoadU(d, row.previous_cell + i)), sigmoid_slope(d, forget)), d,
                   row.input_gradient + at_f);
        hn::StoreU(hn::Mul(hn::Mul(to_cell, in), tanh_slope(d, fresh)), d, row.input_gradient + at_g);
        hn::StoreU(hn::Mul(hn::Mul(gradient, squashed), sigmoid_slope(d, out)), d, row.input_gradient + at_o);
        hn::StoreU(hn::Mul(to_cell, forget), d, row.cell_gradient + i);
        hn::StoreU(hn::Zero(d), d, row.state_gradient + i);
    }
};

#define TESSERA_CELL(name, ...)                                                                             \
    void name##_f32(const CellRow<float>& row) { over_vectors<float>(row.width, __VA_ARGS__<float>{row}); } \
    void name##_f64(const CellRow<double>& row) { over_vectors<double>(row.width, __VA_ARGS__<double>{row}); }
#define TESSERA_CELL_GRADIENT(name, ...)                           \
    void name##_backward_f32(const CellGradientRow<float>& row) {  \
        over_vectors<float>(row.width, __VA_ARGS__<float>{row});   \
    }                                                              \
    void name##_backward_f64(const CellGradientRow<double>& row) { \
        over_vectors<double>(row.width, __VA_ARGS__<double>{row}); \
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

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
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
}  // namespace tessera
#endif
