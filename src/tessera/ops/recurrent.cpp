#include "tessera/ops/recurrent.h"

#include "tessera/kernels/gemm.h"
#include "tessera/kernels/recurrent.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/compute_dtype.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/matmul.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

struct Cell {
    const char* name;
    std::int64_t gates;
    std::int64_t saved;  // values per unit that backward needs beside the output
    bool has_cell;
    bool splits_gradient;  // whether W_hh·h and W_ih·x get different gradients
    const Slot<kernels::RecurrentForward>& forward;
    const Slot<kernels::RecurrentBackward>& backward;
};

const Cell rnn_tanh{"rnn", 1, 0, false, false, kernels::rnn_tanh, kernels::rnn_tanh_backward};
const Cell rnn_relu{"rnn", 1, 0, false, false, kernels::rnn_relu, kernels::rnn_relu_backward};
const Cell gru_parts{"gru", 3, 4, false, true, kernels::gru, kernels::gru_backward};
const Cell lstm_parts{"lstm", 4, 4, true, false, kernels::lstm, kernels::lstm_backward};

// What a sequence computes with and what backward needs again, in f32 or f64; the 16-bit formats are rounded once, at
// the end.
struct Sequence {
    Tensor weight, bias;                 // (G·H, H), (G·H)
    Tensor initial_state, initial_cell;  // (B, H)
    Tensor lengths;                      // (B)
    Tensor output = {}, cells = {};      // (B, T, H)
    Tensor gates = {};                   // (B, T, saved·H)

    std::int64_t batch() const { return output.size(0); }
    std::int64_t time() const { return output.size(1); }
    std::int64_t width() const { return output.size(2); }
};

struct FinalState {
    Tensor state, cell;  // (B, H)
};

// x (B, T, N) at one time: (B, N). Undefined stays undefined.
View at_time(const Tensor& x, std::int64_t time) {
    if (!x.defined()) return {};
    return x.with_layout({x.size(0), x.size(2)}, {x.stride(0), x.stride(2)}, x.offset() + time * x.stride(1)).view();
}

View before(const Tensor& x, const Tensor& initial, std::int64_t time) {
    return time == 0 ? initial.view() : at_time(x, time - 1);
}

Tensor transposed(const Tensor& matrix) {
    return matrix.with_layout({matrix.size(1), matrix.size(0)}, {matrix.stride(1), matrix.stride(0)}, matrix.offset());
}

Tensor ready(const Tensor& x, DType dtype) { return x.defined() ? x.detach().to(dtype).contiguous() : Tensor(); }

// projected (B, T, G·H)
FinalState run_forward(const Cell& cell, const Tensor& projected, Sequence& all, bool saves) {
    const DType dtype = projected.dtype();
    const Device device = projected.device();
    const std::int64_t batch = projected.size(0), time = projected.size(1), width = all.weight.size(1);
    all.output = Tensor::empty({batch, time, width}, dtype, device);
    if (cell.has_cell) all.cells = Tensor::empty({batch, time, width}, dtype, device);
    if (cell.saved > 0) {
        // Without a backward to come, all steps share the room of one.
        const Tensor room = Tensor::empty({batch, saves ? time : 1, cell.saved * width}, dtype, device);
        all.gates = room.with_layout({batch, time, room.size(2)}, {room.stride(0), saves ? room.stride(1) : 0, 1}, 0);
    }
    const FinalState last{all.initial_state.clone(), cell.has_cell ? all.initial_cell.clone() : Tensor()};
    const Tensor hidden = Tensor::empty({batch, cell.gates * width}, dtype, device);
    // Products with few rows run twice as fast over weights that lie as they are read; some steps repay the copy.
    const Tensor weight = time >= 4 ? transposed(all.weight).clone() : transposed(all.weight);
    for (std::int64_t t = 0; t < time; ++t) {
        const View previous = before(all.output, all.initial_state, t);
        kernels::gemm.on(device)(previous, weight.view(), all.bias.view(), hidden.view(), {});
        cell.forward.on(device)({.time = t,
                                 .lengths = all.lengths.view(),
                                 .input = at_time(projected, t),
                                 .hidden = hidden.view(),
                                 .previous_state = previous,
                                 .previous_cell = cell.has_cell ? before(all.cells, all.initial_cell, t) : View{},
                                 .output = at_time(all.output, t),
                                 .cell = at_time(all.cells, t),
                                 .final_state = last.state.view(),
                                 .final_cell = last.cell.view(),
                                 .gates = at_time(all.gates, t)});
    }
    return last;
}

// The state that each step started from: (B·T, H).
Tensor previous_states(const Sequence& all) {
    const Tensor states = Tensor::empty(all.output.shape(), all.output.dtype(), all.output.device());
    select(states, 1, 0).copy_from(all.initial_state);
    slice(states, 1, 1, all.time()).copy_from(slice(all.output, 1, 0, all.time() - 1));
    return reshape(states, {all.batch() * all.time(), all.width()});
}

// Gradients of projected, weight, bias, initial state and initial cell.
Gradients run_backward(const Cell& cell, const Sequence& all, const Gradients& output_gradients, bool wants_weight) {
    const DType dtype = all.output.dtype();
    const Device device = all.output.device();
    const std::int64_t batch = all.batch(), time = all.time(), rows = cell.gates * all.width();
    const Tensor output_gradient = ready(output_gradients[0], dtype);
    const Tensor state_gradient = output_gradients[1].to(dtype).clone();
    const Tensor cell_gradient = cell.has_cell ? output_gradients[2].to(dtype).clone() : Tensor();
    const Tensor input_gradient = Tensor::empty({batch, time, rows}, dtype, device);
    const Tensor split = cell.splits_gradient ? input_gradient.empty_like() : Tensor();
    const Tensor& hidden_gradient = split.defined() ? split : input_gradient;
    for (std::int64_t t = time - 1; t >= 0; --t) {
        cell.backward.on(device)({.time = t,
                                  .lengths = all.lengths.view(),
                                  .output = at_time(all.output, t),
                                  .cell = at_time(all.cells, t),
                                  .previous_state = before(all.output, all.initial_state, t),
                                  .previous_cell = cell.has_cell ? before(all.cells, all.initial_cell, t) : View{},
                                  .gates = at_time(all.gates, t),
                                  .output_gradient = at_time(output_gradient, t),
                                  .state_gradient = state_gradient.view(),
                                  .cell_gradient = cell_gradient.view(),
                                  .input_gradient = at_time(input_gradient, t),
                                  .hidden_gradient = at_time(split, t)});
        kernels::gemm.on(device)(at_time(hidden_gradient, t), all.weight.view(), {}, state_gradient.view(),
                                 {.beta = 1});
    }
    Gradients out{input_gradient, Tensor(), Tensor(), state_gradient, cell_gradient};
    if (wants_weight) {
        const Tensor flat = reshape(hidden_gradient, {batch * time, rows});
        out[1] = time > 0 ? matmul(flat, previous_states(all), {.transpose_a = true})
                          : Tensor::zeros(all.weight.shape(), dtype, device);
        out[2] = sum_to(flat, {rows});
    }
    return out;
}

void check_operands(const Cell& cell, const Tensor& x, const RecurrentWeights& weights,
                    const RecurrentOptions& options) {
    check(x.rank() == 3, cell.name, ": needs x (batch, time, width), not ", x.shape());
    check(weights.input.rank() == 2 && weights.hidden.rank() == 2 && weights.input.size(1) == x.size(2) &&
              weights.hidden.size(0) == cell.gates * weights.hidden.size(1) &&
              weights.input.size(0) == weights.hidden.size(0),
          cell.name, ": weights of ", weights.input.shape(), " and ", weights.hidden.shape(), " do not fit ",
          cell.gates, " gate(s) over x of ", x.shape());
    const std::int64_t width = weights.hidden.size(1);
    for (const Tensor* bias : {&weights.input_bias, &weights.hidden_bias})
        check(!bias->defined() || bias->shape() == Shape{cell.gates * width}, cell.name, ": bias of ", bias->shape(),
              " does not fit weights of ", weights.hidden.shape());
    check(cell.has_cell || !options.initial_cell.defined(), cell.name, ": has no cell state");
    for (const Tensor* initial : {&options.initial_state, &options.initial_cell})
        check(!initial->defined() || initial->shape() == Shape{x.size(0), width}, cell.name, ": initial state of ",
              initial->shape(), ", not ", Shape{x.size(0), width});
    for (const Tensor* tensor : {&weights.input, &weights.input_bias, &weights.hidden, &weights.hidden_bias,
                                 &options.initial_state, &options.initial_cell})
        check(!tensor->defined() || (tensor->dtype() == x.dtype() && tensor->device() == x.device()), cell.name, ": ",
              tensor->dtype(), " on ", tensor->device(), " beside x of ", x.dtype(), " on ", x.device());
    check(
        !options.lengths.defined() || (options.lengths.shape() == Shape{x.size(0)} &&
                                       options.lengths.dtype() == DType::I64 && options.lengths.device() == x.device()),
        cell.name, ": lengths must be i64 of ", Shape{x.size(0)}, " on ", x.device(), ", not ", options.lengths.dtype(),
        " of ", options.lengths.shape());
}

// W_ih·x + b_ih of all steps (B, T, G·H). For the 16-bit formats the sums stay in f32, as the cells add to them.
Tensor project(const Tensor& x, const RecurrentWeights& weights, DType dtype) {
    if (x.dtype() == dtype) return linear(x, weights.input, weights.input_bias);
    const std::int64_t rows = x.size(0) * x.size(1), width = weights.input.size(0);
    const Tensor flat = reshape(x.detach(), {rows, x.size(2)}), weight = weights.input.detach();
    const Tensor out = Tensor::empty({rows, width}, dtype, x.device());
    kernels::gemm.on(x.device())(flat.view(), transposed(weight).view(), ready(weights.input_bias, dtype).view(),
                                 out.view(), {});
    return record(
        "project", out.with_layout({x.size(0), x.size(1), width}, {x.size(1) * width, width, 1}, 0),
        {x, weights.input, weights.input_bias}, [flat, weight, shape = x.shape()](const Tensor& output_gradient) {
            const Tensor exact = reshape(output_gradient, {flat.size(0), weight.size(0)});
            const Tensor gradient = exact.to(flat.dtype());
            return Gradients{reshape(matmul(gradient, weight), shape), matmul(gradient, flat, {.transpose_a = true}),
                             sum_to(exact, {weight.size(0)}).to(flat.dtype())};
        });
}

RecurrentResult run(const Cell& cell, const Tensor& x, const RecurrentWeights& weights,
                    const RecurrentOptions& options) {
    check_operands(cell, x, weights, options);
    const DType given = x.dtype(), dtype = compute_dtype(given);
    const Tensor projected = project(x, weights, dtype);
    const std::vector<Tensor> inputs{projected, weights.hidden, weights.hidden_bias, options.initial_state,
                                     options.initial_cell};
    bool saves = false;
    for (const Tensor& input : inputs) saves = saves || (recording() && input.requires_grad());

    Sequence all{.weight = ready(weights.hidden, dtype),
                 .bias = ready(weights.hidden_bias, dtype),
                 .initial_state = ready(options.initial_state, dtype),
                 .initial_cell = ready(options.initial_cell, dtype),
                 .lengths = options.lengths};
    const Shape state_shape{x.size(0), weights.hidden.size(1)};
    if (!all.initial_state.defined()) all.initial_state = Tensor::zeros(state_shape, dtype, x.device());
    if (cell.has_cell && !all.initial_cell.defined()) all.initial_cell = Tensor::zeros(state_shape, dtype, x.device());
    const FinalState last = run_forward(cell, ready(projected, dtype), all, saves);
    std::vector<Tensor> outputs{all.output.to(given), last.state.to(given)};
    if (cell.has_cell) outputs.push_back(last.cell.to(given));
    const bool wants_weight = weights.hidden.requires_grad() || weights.hidden_bias.requires_grad();
    outputs = record(cell.name, outputs, inputs, [&cell, all, given, wants_weight](const Gradients& gradients) {
        Gradients out = run_backward(cell, all, gradients, wants_weight);
        for (std::size_t i = 1; i < out.size(); ++i)  // that of the projections stays exact
            if (out[i].defined()) out[i] = out[i].to(given);
        return out;
    });
    return {outputs[0], outputs[1], cell.has_cell ? outputs[2] : Tensor()};
}

}  // namespace

RecurrentResult rnn(const Tensor& x, const RecurrentWeights& weights, const RecurrentOptions& options,
                    RnnActivation activation) {
    return run(activation == RnnActivation::Tanh ? rnn_tanh : rnn_relu, x, weights, options);
}

RecurrentResult gru(const Tensor& x, const RecurrentWeights& weights, const RecurrentOptions& options) {
    return run(gru_parts, x, weights, options);
}

RecurrentResult lstm(const Tensor& x, const RecurrentWeights& weights, const RecurrentOptions& options) {
    return run(lstm_parts, x, weights, options);
}

}  // namespace tessera::ops
