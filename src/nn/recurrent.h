// Recurrent layers one above the other: RNN, GRU or LSTM. Names are torch's (weight_ih_l0, …), whose layout it shares.
#pragma once

#include <span>

#include "nn/context.h"
#include "nn/module.h"
#include "ops/recurrent.h"

namespace tessera::nn {

enum class RecurrentKind { rnn, gru, lstm };

struct RecurrentSettings {
    RecurrentKind kind = RecurrentKind::gru;
    std::int64_t input_width = 0;
    std::int64_t hidden = 0;
    std::int64_t layers = 1;
    double dropout = 0;  // between layers, in training
};

// What a recurrent stack keeps between calls: (B, H) per layer; undefined before the first.
struct RecurrentState {
    std::vector<Tensor> states, cells;
};
void reorder(RecurrentState& state, std::span<const std::int64_t> rows);  // row i becomes what row rows[i] was

class Recurrent : public Module {
   public:
    explicit Recurrent(const RecurrentSettings& settings);

    // x (B, T, input width) → (B, T, hidden). Starts from `state` where there is one, and leaves the last in it.
    // With lengths i64 (B), a row's state stays as it is after its last step.
    Tensor forward(const Tensor& x, const Context& context, RecurrentState* state = nullptr,
                   const Tensor& lengths = {}) const;
    void visit(const Visitor& visitor) override;

    std::vector<ops::RecurrentWeights> layers;

   private:
    RecurrentSettings settings_;
};

}  // namespace tessera::nn
