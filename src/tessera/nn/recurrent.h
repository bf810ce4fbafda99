// Recurrent layers one above the other: RNN, GRU or LSTM, in one direction or both (Schuster & Paliwal 1997). Names are
// torch's (weight_ih_l0, weight_ih_l0_reverse, …), whose layout it shares.
#pragma once

#include <span>

#include "tessera/nn/context.h"
#include "tessera/nn/module.h"
#include "tessera/ops/recurrent.h"

namespace tessera::nn {

enum class RecurrentKind { Rnn, Gru, Lstm };

struct RecurrentSettings {
    RecurrentKind kind = RecurrentKind::Gru;
    std::int64_t input_width = 0;
    std::int64_t hidden = 0;
    std::int64_t layers = 1;
    double dropout = 0;          // between layers, in training
    bool bidirectional = false;  // each layer reads from the end too; its output is [forward, backward]
};

// What a recurrent stack keeps between calls: (B, H) per layer, or per layer and direction (forward, backward, forward,
// …); undefined before the first.
struct RecurrentState {
    std::vector<Tensor> states, cells;
};
void reorder(RecurrentState& state, std::span<const std::int64_t> rows);  // row i becomes what row rows[i] was

class Recurrent : public Module {
   public:
    explicit Recurrent(const RecurrentSettings& settings);

    // x (B, T, input width) → (B, T, output width). Starts from `state` where there is one, and leaves the last in it:
    // backward, that after the first token. With lengths i64 (B), a row's state stays as it is after its last step, and
    // backward begins with it.
    Tensor forward(const Tensor& x, const Context& context, RecurrentState* state = nullptr,
                   const Tensor& lengths = {}) const;
    void visit(const Visitor& visitor) override;

    std::int64_t output_width() const { return settings_.hidden * (settings_.bidirectional ? 2 : 1); }

    std::vector<ops::RecurrentWeights> layers;
    std::vector<ops::RecurrentWeights> reverse_layers;  // as many, where there are two directions

   private:
    Tensor run_layer(const Tensor& x, const ops::RecurrentWeights& weights, RecurrentState* state, std::size_t index,
                     const Tensor& lengths) const;

    RecurrentSettings settings_;
};

}  // namespace tessera::nn
