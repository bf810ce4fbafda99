// One time step of a recurrent cell: a thread per batch row and unit.
#include "tessera/kernels/recurrent.h"

#include <cmath>

#include "tessera/kernels/cuda/functions.h"
#include "tessera/kernels/cuda/stream.h"

namespace tessera::kernels::cuda {
namespace {

using kernels::RecurrentStep;
using kernels::RecurrentStepGradient;

constexpr int threads = 256;

// Rows that may lie anywhere; no data where the view is undefined.
template <class T>
struct Rows {
    T* data = nullptr;
    std::int64_t stride = 0;

    Rows() = default;
    explicit Rows(const View& view) : data(view.as<T>()), stride(view.defined() ? view.strides[0] : 0) {}
    __device__ T* operator[](std::int64_t row) const { return data + row * stride; }
};

struct Lengths {
    const std::int64_t* data = nullptr;
    std::int64_t stride = 0, time = 0;

    Lengths(const View& view, std::int64_t time)
        : data(view.as<const std::int64_t>()), stride(view.defined() ? view.strides[0] : 0), time(time) {}
    __device__ bool is_over(std::int64_t row) const { return data != nullptr && time >= data[row * stride]; }
};

template <class T>
struct CellTask {
    std::int64_t batch, width;
    Lengths lengths;
    Rows<T> input, hidden, previous_state, previous_cell, output, cell, final_state, final_cell, gates;
};

template <class T>
struct CellGradientTask {
    std::int64_t batch, width;
    int gate_count;
    Lengths lengths;
    Rows<T> output, cell, previous_state, previous_cell, gates, output_gradient;
    Rows<T> state_gradient, cell_gradient, input_gradient, hidden_gradient;
};

// y·(1 − y) and 1 − y²: the slopes of σ and tanh in terms of their values.
template <class T>
__device__ T sigmoid_slope(T y) {
    return y - y * y;
}
template <class T>
__device__ T tanh_slope(T y) {
    return 1 - y * y;
}

// What reaches a unit's output from above and from later steps.
template <class T>
__device__ T gradient_at(const CellGradientTask<T>& task, std::int64_t row, std::int64_t i) {
    return task.output_gradient[row][i] + task.state_gradient[row][i];
}

template <bool relu>
struct Rnn {
    template <class T>
    static __device__ void forward(const CellTask<T>& task, std::int64_t row, std::int64_t i) {
        const T sum = task.input[row][i] + task.hidden[row][i];
        task.output[row][i] = relu ? (sum < 0 ? T(0) : sum) : std::tanh(sum);
    }
    template <class T>
    static __device__ void backward(const CellGradientTask<T>& task, std::int64_t row, std::int64_t i) {
        const T output = task.output[row][i], gradient = gradient_at(task, row, i);
        task.input_gradient[row][i] = relu ? (output > 0 ? gradient : T(0)) : gradient * tanh_slope(output);
        task.state_gradient[row][i] = 0;
    }
};

struct Gru {
    template <class T>
    static __device__ void forward(const CellTask<T>& task, std::int64_t row, std::int64_t i) {
        const std::int64_t at_z = task.width + i, at_n = 2 * task.width + i, at_hidden = 3 * task.width + i;
        const T *input = task.input[row], *hidden = task.hidden[row];
        const T r = functions::sigmoid(input[i] + hidden[i]), z = functions::sigmoid(input[at_z] + hidden[at_z]);
        const T hidden_n = hidden[at_n], n = std::tanh(r * hidden_n + input[at_n]);
        T* gates = task.gates[row];
        gates[i] = r;
        gates[at_z] = z;
        gates[at_n] = n;
        gates[at_hidden] = hidden_n;
        task.output[row][i] = z * (task.previous_state[row][i] - n) + n;
    }
    template <class T>
    static __device__ void backward(const CellGradientTask<T>& task, std::int64_t row, std::int64_t i) {
        const std::int64_t at_z = task.width + i, at_n = 2 * task.width + i, at_hidden = 3 * task.width + i;
        const T* gates = task.gates[row];
        const T r = gates[i], z = gates[at_z], n = gates[at_n], hidden = gates[at_hidden];
        const T gradient = gradient_at(task, row, i), kept = gradient * z;
        const T to_n = (gradient - kept) * tanh_slope(n);
        const T to_z = gradient * (task.previous_state[row][i] - n) * sigmoid_slope(z);
        const T to_r = to_n * hidden * sigmoid_slope(r);
        T *input_gradient = task.input_gradient[row], *hidden_gradient = task.hidden_gradient[row];
        input_gradient[i] = hidden_gradient[i] = to_r;
        input_gradient[at_z] = hidden_gradient[at_z] = to_z;
        input_gradient[at_n] = to_n;
        hidden_gradient[at_n] = to_n * r;
        task.state_gradient[row][i] = kept;
    }
};

struct Lstm {
    template <class T>
    static __device__ void forward(const CellTask<T>& task, std::int64_t row, std::int64_t i) {
        const std::int64_t at_f = task.width + i, at_g = 2 * task.width + i, at_o = 3 * task.width + i;
        const T *input = task.input[row], *hidden = task.hidden[row];
        const T in = functions::sigmoid(input[i] + hidden[i]), forget = functions::sigmoid(input[at_f] + hidden[at_f]);
        const T fresh = std::tanh(input[at_g] + hidden[at_g]), out = functions::sigmoid(input[at_o] + hidden[at_o]);
        const T cell = forget * task.previous_cell[row][i] + in * fresh;
        T* gates = task.gates[row];
        gates[i] = in;
        gates[at_f] = forget;
        gates[at_g] = fresh;
        gates[at_o] = out;
        task.cell[row][i] = cell;
        task.output[row][i] = out * std::tanh(cell);
    }
    template <class T>
    static __device__ void backward(const CellGradientTask<T>& task, std::int64_t row, std::int64_t i) {
        const std::int64_t at_f = task.width + i, at_g = 2 * task.width + i, at_o = 3 * task.width + i;
        const T* gates = task.gates[row];
        const T in = gates[i], forget = gates[at_f], fresh = gates[at_g], out = gates[at_o];
        const T squashed = std::tanh(task.cell[row][i]), gradient = gradient_at(task, row, i);
        const T to_cell = gradient * out * tanh_slope(squashed) + task.cell_gradient[row][i];
        T* input_gradient = task.input_gradient[row];
        input_gradient[i] = to_cell * fresh * sigmoid_slope(in);
        input_gradient[at_f] = to_cell * task.previous_cell[row][i] * sigmoid_slope(forget);
        input_gradient[at_g] = to_cell * in * tanh_slope(fresh);
        input_gradient[at_o] = gradient * squashed * sigmoid_slope(out);
        task.cell_gradient[row][i] = to_cell * forget;
        task.state_gradient[row][i] = 0;
    }
};

template <class T, class Cell>
__global__ void forward_kernel(const __grid_constant__ CellTask<T> task) {
    const std::int64_t place = std::int64_t{blockIdx.x} * threads + threadIdx.x;
    if (place >= task.batch * task.width) return;
    const std::int64_t row = place / task.width, i = place % task.width;
    if (task.lengths.is_over(row)) {
        task.output[row][i] = 0;
        if (task.cell.data != nullptr) task.cell[row][i] = 0;
        return;
    }
    Cell::forward(task, row, i);
    task.final_state[row][i] = task.output[row][i];
    if (task.cell.data != nullptr) task.final_cell[row][i] = task.cell[row][i];
}

template <class T, class Cell>
__global__ void backward_kernel(const __grid_constant__ CellGradientTask<T> task) {
    const std::int64_t place = std::int64_t{blockIdx.x} * threads + threadIdx.x;
    if (place >= task.batch * task.width) return;
    const std::int64_t row = place / task.width, i = place % task.width;
    if (!task.lengths.is_over(row)) return Cell::backward(task, row, i);
    // The gradients of the final state wait for its last step.
    for (int gate = 0; gate < task.gate_count; ++gate) {
        task.input_gradient[row][gate * task.width + i] = 0;
        if (task.hidden_gradient.data != nullptr) task.hidden_gradient[row][gate * task.width + i] = 0;
    }
}

template <class Body>
void visit_cell(DType dtype, const Body& body) {
    check(dtype == DType::F32 || dtype == DType::F64, "recurrent step: needs f32 or f64, not ", dtype);
    if (dtype == DType::F32)
        body(Type<float>{});
    else
        body(Type<double>{});
}

template <class Cell>
void forward_on_cuda(const RecurrentStep& step) {
    if (step.output.elements() == 0) return;
    visit_cell(step.output.dtype, [&]<class T>(Type<T>) {
        const CellTask<T> task{.batch = step.output.size(0),
                               .width = step.output.size(1),
                               .lengths = Lengths(step.lengths, step.time),
                               .input = Rows<T>(step.input),
                               .hidden = Rows<T>(step.hidden),
                               .previous_state = Rows<T>(step.previous_state),
                               .previous_cell = Rows<T>(step.previous_cell),
                               .output = Rows<T>(step.output),
                               .cell = Rows<T>(step.cell),
                               .final_state = Rows<T>(step.final_state),
                               .final_cell = Rows<T>(step.final_cell),
                               .gates = Rows<T>(step.gates)};
        forward_kernel<T, Cell>
            <<<ceil_divide(task.batch * task.width, threads), threads, 0, stream_of(step.output.device.index)>>>(task);
        check_launch("recurrent step");
    });
}

template <class Cell>
void backward_on_cuda(const RecurrentStepGradient& step) {
    if (step.output.elements() == 0) return;
    visit_cell(step.output.dtype, [&]<class T>(Type<T>) {
        const CellGradientTask<T> task{
            .batch = step.output.size(0),
            .width = step.output.size(1),
            .gate_count = static_cast<int>(step.input_gradient.size(1) / step.output.size(1)),
            .lengths = Lengths(step.lengths, step.time),
            .output = Rows<T>(step.output),
            .cell = Rows<T>(step.cell),
            .previous_state = Rows<T>(step.previous_state),
            .previous_cell = Rows<T>(step.previous_cell),
            .gates = Rows<T>(step.gates),
            .output_gradient = Rows<T>(step.output_gradient),
            .state_gradient = Rows<T>(step.state_gradient),
            .cell_gradient = Rows<T>(step.cell_gradient),
            .input_gradient = Rows<T>(step.input_gradient),
            .hidden_gradient = Rows<T>(step.hidden_gradient)};
        backward_kernel<T, Cell>
            <<<ceil_divide(task.batch * task.width, threads), threads, 0, stream_of(step.output.device.index)>>>(task);
        check_launch("recurrent step backward");
    });
}

const RegisterKernel register_rnn_tanh{kernels::rnn_tanh, DeviceKind::CUDA, forward_on_cuda<Rnn<false>>};
const RegisterKernel register_rnn_relu{kernels::rnn_relu, DeviceKind::CUDA, forward_on_cuda<Rnn<true>>};
const RegisterKernel register_gru{kernels::gru, DeviceKind::CUDA, forward_on_cuda<Gru>};
const RegisterKernel register_lstm{kernels::lstm, DeviceKind::CUDA, forward_on_cuda<Lstm>};
const RegisterKernel register_rnn_tanh_backward{kernels::rnn_tanh_backward, DeviceKind::CUDA,
                                                backward_on_cuda<Rnn<false>>};
const RegisterKernel register_rnn_relu_backward{kernels::rnn_relu_backward, DeviceKind::CUDA,
                                                backward_on_cuda<Rnn<true>>};
const RegisterKernel register_gru_backward{kernels::gru_backward, DeviceKind::CUDA, backward_on_cuda<Gru>};
const RegisterKernel register_lstm_backward{kernels::lstm_backward, DeviceKind::CUDA, backward_on_cuda<Lstm>};

}  // namespace
}  // namespace tessera::kernels::cuda
