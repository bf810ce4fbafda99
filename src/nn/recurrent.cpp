#include "nn/recurrent.h"

#include "nn/attention/cache.h"

namespace tessera::nn {
namespace {

std::int64_t gates(RecurrentKind kind) { return kind == RecurrentKind::rnn ? 1 : kind == RecurrentKind::gru ? 3 : 4; }

ops::RecurrentResult run(RecurrentKind kind, const Tensor& x, const ops::RecurrentWeights& weights,
                         const ops::RecurrentOptions& options) {
    switch (kind) {
        case RecurrentKind::rnn: return ops::rnn(x, weights, options);
        case RecurrentKind::gru: return ops::gru(x, weights, options);
        case RecurrentKind::lstm: return ops::lstm(x, weights, options);
    }
    fail("unknown recurrent kind");
}

}  // namespace

void reorder(RecurrentState& state, std::span<const std::int64_t> rows) {
    for (auto* tensors : {&state.states, &state.cells})
        for (Tensor& tensor : *tensors)
            if (tensor.defined()) tensor = gather_rows(tensor, rows);
}

Recurrent::Recurrent(const RecurrentSettings& settings) : settings_(settings) {
    const std::int64_t rows = gates(settings.kind) * settings.hidden;
    for (std::int64_t i = 0; i < settings.layers; ++i)
        layers.push_back({.input = Tensor::deferred({rows, i == 0 ? settings.input_width : settings.hidden}),
                          .hidden = Tensor::deferred({rows, settings.hidden}),
                          .input_bias = Tensor::deferred({rows}),
                          .hidden_bias = Tensor::deferred({rows})});
}

Tensor Recurrent::forward(const Tensor& x, const Context& context, RecurrentState* state, const Tensor& lengths) const {
    Tensor stream = x;
    if (state) {
        state->states.resize(layers.size());
        state->cells.resize(layers.size());
    }
    for (std::size_t i = 0; i < layers.size(); ++i) {
        if (i > 0) stream = drop(stream, settings_.dropout, context, i);
        ops::RecurrentOptions options{.lengths = lengths};
        if (state) options.initial_state = state->states[i];
        if (state && settings_.kind == RecurrentKind::lstm) options.initial_cell = state->cells[i];
        const ops::RecurrentResult result = run(settings_.kind, stream, layers[i], options);
        if (state) {
            state->states[i] = result.state;
            state->cells[i] = result.cell;
        }
        stream = result.output;
    }
    return stream;
}

void Recurrent::visit(const Visitor& visitor) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const std::string layer = "_l" + std::to_string(i);
        visitor("weight_ih" + layer, layers[i].input);
        visitor("weight_hh" + layer, layers[i].hidden);
        visitor("bias_ih" + layer, layers[i].input_bias);
        visitor("bias_hh" + layer, layers[i].hidden_bias);
    }
}

}  // namespace tessera::nn
