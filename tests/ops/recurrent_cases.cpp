#include "tessera/ops/recurrent.h"

#include <cmath>

#include "support/op_case.h"

namespace tessera::testing {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Kind {
    const char* name;
    std::int64_t gates;
    ops::RnnActivation activation = ops::RnnActivation::Tanh;
    bool has_cell() const { return gates == 4; }
};

// The plain definition of one step for one row: `input` and `hidden` hold the gates' sums.
void step(const Kind& kind, const std::vector<double>& input, const std::vector<double>& hidden,
          std::vector<double>& state, std::vector<double>& cell) {
    const std::size_t width = state.size();
    for (std::size_t i = 0; i < width; ++i) {
        const auto both = [&](std::size_t gate) { return input[gate * width + i] + hidden[gate * width + i]; };
        if (kind.gates == 1) {
            state[i] = kind.activation == ops::RnnActivation::Tanh ? std::tanh(both(0)) : std::max(0.0, both(0));
        } else if (kind.gates == 3) {
            const double r = sigmoid(both(0)), z = sigmoid(both(1));
            const double n = std::tanh(input[2 * width + i] + r * hidden[2 * width + i]);
            state[i] = (1 - z) * n + z * state[i];
        } else {
            cell[i] = sigmoid(both(1)) * cell[i] + sigmoid(both(0)) * std::tanh(both(2));
            state[i] = sigmoid(both(3)) * std::tanh(cell[i]);
        }
    }
}

std::vector<double> affine(const double* weight, const double* bias, const double* x, std::int64_t rows,
                           std::int64_t columns) {
    std::vector<double> out(static_cast<std::size_t>(rows));
    for (std::int64_t r = 0; r < rows; ++r) {
        out[static_cast<std::size_t>(r)] = bias[r];
        for (std::int64_t c = 0; c < columns; ++c) out[static_cast<std::size_t>(r)] += weight[r * columns + c] * x[c];
    }
    return out;
}

// in: x, W_ih, W_hh, b_ih, b_hh, h0, (c0)
Tensors reference(const Kind& kind, const Tensors& in, const std::vector<std::int64_t>& lengths) {
    const std::int64_t batch = in[0].size(0), time = in[0].size(1), width = in[2].size(1), rows = kind.gates * width;
    std::vector<std::vector<double>> values;
    for (const Tensor& tensor : in) values.push_back(tensor.to_vector<double>());
    std::vector<double> output(static_cast<std::size_t>(batch * time * width)), states, cells;
    for (std::int64_t b = 0; b < batch; ++b) {
        std::vector<double> state(values[5].begin() + b * width, values[5].begin() + (b + 1) * width), cell(state);
        if (kind.has_cell()) cell.assign(values[6].begin() + b * width, values[6].begin() + (b + 1) * width);
        for (std::int64_t t = 0; t < (lengths.empty() ? time : lengths[static_cast<std::size_t>(b)]); ++t) {
            const double* x = values[0].data() + (b * time + t) * in[0].size(2);
            const auto input = affine(values[1].data(), values[3].data(), x, rows, in[0].size(2));
            step(kind, input, affine(values[2].data(), values[4].data(), state.data(), rows, width), state, cell);
            std::copy(state.begin(), state.end(), output.begin() + (b * time + t) * width);
        }
        states.insert(states.end(), state.begin(), state.end());
        cells.insert(cells.end(), cell.begin(), cell.end());
    }
    Tensors out{from_doubles(output, {batch, time, width}), from_doubles(states, {batch, width})};
    if (kind.has_cell()) out.push_back(from_doubles(cells, {batch, width}));
    return out;
}

Tensors run(const Kind& kind, const Tensors& in, const std::vector<std::int64_t>& lengths) {
    const ops::RecurrentWeights weights{in[1], in[2], in[3], in[4]};
    ops::RecurrentOptions options{.initial_state = in[5]};
    if (kind.has_cell()) options.initial_cell = in[6];
    if (!lengths.empty()) options.lengths = Tensor::from(lengths, {in[0].size(0)}).to(in[0].device());
    const ops::RecurrentResult result = kind.gates == 1   ? ops::rnn(in[0], weights, options, kind.activation)
                                        : kind.gates == 3 ? ops::gru(in[0], weights, options)
                                                          : ops::lstm(in[0], weights, options);
    Tensors out{result.output, result.state};
    if (kind.has_cell()) out.push_back(result.cell);
    return out;
}

struct RecurrentSizes {
    std::int64_t batch, time, input, width;
};

void add_case(Cases& out, const Kind& kind, const RecurrentSizes& sizes,
              const std::vector<std::int64_t>& lengths = {}) {
    const std::int64_t rows = kind.gates * sizes.width;
    // As initialised: the spread of a unit's sum does not grow with the width.
    const double spread = 1 / std::sqrt(static_cast<double>(sizes.width));
    std::vector<Input> inputs{{.shape = {sizes.batch, sizes.time, sizes.input}},
                              {.shape = {rows, sizes.input}, .low = -spread, .high = spread},
                              {.shape = {rows, sizes.width}, .low = -spread, .high = spread},
                              {.shape = {rows}},
                              {.shape = {rows}},
                              {.shape = {sizes.batch, sizes.width}}};
    if (kind.has_cell()) inputs.push_back({.shape = {sizes.batch, sizes.width}});
    out.add({.name = text_of(kind.name, "/", sizes.batch, "x", sizes.time, "x", sizes.input, "x", sizes.width,
                             lengths.empty() ? "" : "/lengths"),
             .inputs = inputs,
             .op = [=](const Tensors& in) { return run(kind, in, lengths); },
             .reference = [=](const Tensors& in) { return reference(kind, in, lengths); },
             .cuda = true});
}

const RegisterCases recurrent_cases{[](Cases& out) {
    const Kind kinds[] = {{"rnn", 1}, {"rnn_relu", 1, ops::RnnActivation::Relu}, {"gru", 3}, {"lstm", 4}};
    for (const Kind& kind : kinds) {
        for (const std::int64_t n : odd_sizes) add_case(out, kind, {.batch = 2, .time = 3, .input = 5, .width = n});
        add_case(out, kind, {.batch = 1, .time = 1, .input = 33, .width = 8});
        add_case(out, kind, {.batch = 4, .time = 5, .input = 3, .width = 17}, {5, 0, 1, 3});
        // Among thousands of relu units some lie within a finite difference, or a rounding to bf16, of their kink.
        if (kind.activation == ops::RnnActivation::Tanh)
            add_case(out, kind, {.batch = 5, .time = 6, .input = 31, .width = 96});
    }
}};

}  // namespace
}  // namespace tessera::testing
