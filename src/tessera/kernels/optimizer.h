// Optimizer steps over flat buffers. All buffers of a call are contiguous and equally long; values, gradients and state
// share one dtype, f32 or f64. Where the model runs in a 16-bit format, `values` is the f32 master copy and `rounded`
// receives it rounded; otherwise `rounded` is undefined.
#pragma once

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

// g ← g + weight_decay·w;  b ← momentum·b + g (b ← g on the first step);  w ← w − lr·b, or with Nesterov
// w ← w − lr·(g + momentum·b).
struct SgdStep {
    double learning_rate = 0;
    double momentum = 0;
    double weight_decay = 0;
    bool nesterov = false;
    bool first = false;
};
struct SgdBuffers {
    View values, gradients;
    View momentum = {};  // undefined where there is none
    View rounded = {};
};
inline Slot<void(const SgdStep& step, const SgdBuffers& buffers)> sgd{"sgd"};

// Loshchilov & Hutter 2019: decay apart from the gradient, both moments corrected for their start at zero.
struct AdamWStep {
    double learning_rate = 0;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0;
    std::int64_t number = 1;  // of this step, from 1
};
struct AdamWBuffers {
    View values, gradients, first_moment, second_moment;
    View rounded = {};
};
inline Slot<void(const AdamWStep& step, const AdamWBuffers& buffers)> adamw{"adamw"};

// Shazeer & Stern 2018, for one parameter. A parameter of rank two or more is a stack of matrices (L, R, C) whose
// second moment is kept as the means over its rows (L, R) and over its columns (L, C); a vector (N) keeps it whole.
struct AdafactorStep {
    double learning_rate = 0;
    double beta1 = 0;  // used where first_moment is defined
    double beta2 = 0;  // of this step
    double epsilon_square = 1e-30;
    double epsilon_scale = 1e-3;
    double clip_threshold = 1;
    double weight_decay = 0;
    bool scale_parameter = true;  // lr ← lr·max(epsilon_scale, RMS(values))
};
struct AdafactorBuffers {
    View values, gradients;          // (L, R, C) or (N)
    View row_moment, column_moment;  // (L, R), (L, C): for matrices
    View second_moment;              // (N): for vectors
    View first_moment;               // shape of values, or undefined
    View rounded = {};
};
inline Slot<void(const AdafactorStep& step, const AdafactorBuffers& buffers)> adafactor{"adafactor"};

// out (one f64) ← Σ x². Summed in f64 and in an order that depends on the length alone.
inline Slot<void(const View& x, const View& out)> squared_norm{"squared_norm"};
inline Slot<void(double factor, const View& x)> scale_in_place{"scale_in_place"};

}  // namespace tessera::kernels
