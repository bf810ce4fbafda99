// Recurrent layers over sequences, in torch's weight layout: RNN (Elman 1990), GRU (Cho et al. 2014; the reset gate
// acts on W_hn·h + b_hn), LSTM (Hochreiter & Schmidhuber 1997).
//
// All time steps meet their input weights in one product; then each step is one product with the state and one fused
// kernel. Backward goes through time the same way and gets the hidden weights' gradient as one product at the end.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

// G gates: 1 for the RNN, 3 for the GRU (r z n), 4 for the LSTM (i f g o).
struct RecurrentWeights {
    Tensor input;             // (G·H, I)
    Tensor hidden;            // (G·H, H)
    Tensor input_bias = {};   // (G·H) or undefined
    Tensor hidden_bias = {};  // (G·H) or undefined
};

// Undefined initial states are zero. With lengths (B), a row's state stays as it is after its last step, and its output
// is zero from there on.
struct RecurrentOptions {
    Tensor initial_state = {};  // (B, H)
    Tensor initial_cell = {};   // (B, H), LSTM only
    Tensor lengths = {};        // (B) i64
};

struct RecurrentResult {
    Tensor output;  // (B, T, H)
    Tensor state;   // (B, H): after each row's last step
    Tensor cell;    // (B, H), LSTM only
};

enum class RnnActivation : std::uint8_t { Tanh, Relu };

// x (B, T, I)
RecurrentResult rnn(const Tensor& x, const RecurrentWeights& weights, const RecurrentOptions& options = {},
                    RnnActivation activation = RnnActivation::Tanh);
RecurrentResult gru(const Tensor& x, const RecurrentWeights& weights, const RecurrentOptions& options = {});
RecurrentResult lstm(const Tensor& x, const RecurrentWeights& weights, const RecurrentOptions& options = {});

}  // namespace tessera::ops
