// One time step of a recurrent cell, for a batch. The products with the weights are done by then; what is left is
// element by element. Gates lie side by side in a row: (B, gates·H).
//
//     RNN (Elman 1990)                    h' = tanh(a)  or relu(a),   a = input + hidden
//     GRU (Cho et al. 2014), gates r z n  r = σ(·), z = σ(·), n = tanh(input_n + r·hidden_n), h' = (1 − z)·n + z·h
//     LSTM (Hochreiter & Schmidhuber 1997), gates i f g o
//                                         c' = σ(f)·c + σ(i)·tanh(g),  h' = σ(o)·tanh(c')
//
// All views share one dtype, f32 or f64; elements of a row are adjacent, rows may lie anywhere. A row whose sequence is
// over (time ≥ its length) gets an output of zero and leaves the final state alone.
#pragma once

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

struct RecurrentStep {
    std::int64_t time = 0;
    View lengths;                        // (B) i64, or undefined: no row ends early
    View input, hidden;                  // (B, gates·H): W_ih·x + b_ih, W_hh·h + b_hh
    View previous_state, previous_cell;  // (B, H); cells for the LSTM only, here and below
    View output, cell;                   // (B, H)
    View final_state, final_cell;        // (B, H): overwritten, so that each row's last step stays
    View gates;                          // saved for backward: GRU (B, 4H) r z n hidden_n, LSTM (B, 4H) i f g o
};

struct RecurrentStepGradient {
    std::int64_t time = 0;
    View lengths;
    View output, cell, previous_state, previous_cell, gates;  // as they were
    View output_gradient;                                     // (B, H)
    // In: the gradient from later steps. Out: what reaches the previous state past the weights, and the previous cell.
    View state_gradient, cell_gradient;
    View input_gradient;   // (B, gates·H)
    View hidden_gradient;  // (B, gates·H), for the GRU; elsewhere it equals input_gradient and is undefined
};

using RecurrentForward = void(const RecurrentStep& step);
using RecurrentBackward = void(const RecurrentStepGradient& step);

inline Slot<RecurrentForward> rnn_tanh{"rnn_tanh"};
inline Slot<RecurrentForward> rnn_relu{"rnn_relu"};
inline Slot<RecurrentForward> gru{"gru"};
inline Slot<RecurrentForward> lstm{"lstm"};
inline Slot<RecurrentBackward> rnn_tanh_backward{"rnn_tanh_backward"};
inline Slot<RecurrentBackward> rnn_relu_backward{"rnn_relu_backward"};
inline Slot<RecurrentBackward> gru_backward{"gru_backward"};
inline Slot<RecurrentBackward> lstm_backward{"lstm_backward"};

}  // namespace tessera::kernels
