#include "tessera/nn/recurrent.h"

#include "tessera/nn/attention/cache.h"
#include "tessera/ops/cast.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/gather.h"
#include "tessera/ops/views.h"

namespace tessera::nn {
namespace {

std::int64_t gates(RecurrentKind kind) { return kind == RecurrentKind::Rnn ? 1 : kind == RecurrentKind::Gru ? 3 : 4; }

ops::RecurrentResult run(RecurrentKind kind, const Tensor& x, const ops::RecurrentWeights& weights,
                         const ops::RecurrentOptions& options) {
    switch (kind) {
        case RecurrentKind::Rnn: return ops::rnn(x, weights, options);
        case RecurrentKind::Gru: return ops::gru(x, weights, options);
        case RecurrentKind::Lstm: return ops::lstm(x, weights, options);
    }
    fail("unknown recurrent kind");
}

// For each place (B, T) the one that has its token when a row is read from its own end; padding stays where it is.
Tensor reversed_places(const Tensor& x, const Tensor& lengths) {
    const std::int64_t rows = x.size(0), count = x.size(1);
    const auto ends = lengths.defined() ? lengths.to_vector<std::int64_t>() : std::vector<std::int64_t>();
    std::vector<std::int64_t> places;
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t end = ends.empty() ? count : ends[static_cast<std::size_t>(row)];
        for (std::int64_t i = 0; i < count; ++i) places.push_back(row * count + (i < end ? end - 1 - i : i));
    }
    return Tensor::from(places, {rows, count}).to(x.device());
}

Tensor moved(const Tensor& x, const Tensor& places) {
    return ops::embedding(ops::reshape(x, {x.size(0) * x.size(1), x.size(2)}), places);
}

// Weights may be narrower than what goes through them.
ops::RecurrentWeights in_dtype(const ops::RecurrentWeights& weights, DType dtype) {
    const auto cast = [&](const Tensor& each) { return each.defined() ? ops::cast(each, dtype) : each; };
    return {.input = cast(weights.input),
            .hidden = cast(weights.hidden),
            .input_bias = cast(weights.input_bias),
            .hidden_bias = cast(weights.hidden_bias)};
}

void visit_weights(const Visitor& visitor, const std::string& layer, ops::RecurrentWeights& weights) {
    visitor("weight_ih" + layer, weights.input);
    visitor("weight_hh" + layer, weights.hidden);
    visitor("bias_ih" + layer, weights.input_bias);
    visitor("bias_hh" + layer, weights.hidden_bias);
}

}  // namespace

void reorder(RecurrentState& state, std::span<const std::int64_t> rows) {
    for (auto* tensors : {&state.states, &state.cells})
        for (Tensor& tensor : *tensors)
            if (tensor.defined()) tensor = gather_rows(tensor, rows);
}

Recurrent::Recurrent(const RecurrentSettings& settings) : settings_(settings) {
    const std::int64_t rows = gates(settings.kind) * settings.hidden;
    for (std::int64_t i = 0; i < settings.layers; ++i) {
        const auto weights = [&] {
            return ops::RecurrentWeights{
                .input = Tensor::deferred({rows, i == 0 ? settings.input_width : output_width()}),
                .hidden = Tensor::deferred({rows, settings.hidden}),
                .input_bias = Tensor::deferred({rows}),
                .hidden_bias = Tensor::deferred({rows})};
        };
        layers.push_back(weights());
        if (settings.bidirectional) reverse_layers.push_back(weights());
    }
}

Tensor Recurrent::run_layer(const Tensor& x, const ops::RecurrentWeights& weights, RecurrentState* state,
                            std::size_t index, const Tensor& lengths) const {
    ops::RecurrentOptions options{.lengths = lengths};
    if (state) options.initial_state = state->states[index];
    if (state && settings_.kind == RecurrentKind::Lstm) options.initial_cell = state->cells[index];
    const ops::RecurrentResult result = run(settings_.kind, x, in_dtype(weights, x.dtype()), options);
    if (state) {
        state->states[index] = result.state;
        state->cells[index] = result.cell;
    }
    return result.output;
}

Tensor Recurrent::forward(const Tensor& x, const Context& context, RecurrentState* state, const Tensor& lengths) const {
    Tensor stream = x;
    const std::size_t directions = settings_.bidirectional ? 2 : 1;
    if (state) {
        state->states.resize(layers.size() * directions);
        state->cells.resize(layers.size() * directions);
    }
    const Tensor from_the_end = settings_.bidirectional ? reversed_places(x, lengths) : Tensor();
    for (std::size_t i = 0; i < layers.size(); ++i) {
        if (i > 0) stream = drop(stream, settings_.dropout, context, i);
        const Tensor forwards = run_layer(stream, layers[i], state, i * directions, lengths);
        if (!settings_.bidirectional) {
            stream = forwards;
            continue;
        }
        const Tensor backwards =
            run_layer(moved(stream, from_the_end), reverse_layers[i], state, i * directions + 1, lengths);
        stream = ops::concat({forwards, moved(backwards, from_the_end)}, 2);
    }
    return stream;
}

void Recurrent::visit(const Visitor& visitor) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const std::string layer = "_l" + std::to_string(i);
        visit_weights(visitor, layer, layers[i]);
        if (settings_.bidirectional) visit_weights(visitor, layer + "_reverse", reverse_layers[i]);
    }
}

}  // namespace tessera::nn
