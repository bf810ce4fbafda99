// Cross entropy fused with log-softmax. The loss is a scalar: f64 for f64 inputs, f32 otherwise.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

enum class Reduction : std::uint8_t { Mean, Sum };  // mean: over the targets that are not ignored; 0 where all are

struct CrossEntropyOptions {
    std::int64_t ignore_index = -100;
    double label_smoothing = 0;  // this share of the target spread evenly over all classes
    double z_loss = 0;           // adds z_loss · logsumexp² per row (PaLM), which keeps logits from drifting
    Reduction reduction = Reduction::Mean;
};

// logits (…, V), targets i64 (…)
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options = {});

struct LinearCrossEntropyOptions {
    std::int64_t ignore_index = -100;
    double label_smoothing = 0;
    double z_loss = 0;
    Reduction reduction = Reduction::Mean;
    double soft_cap = 0;     // logits become soft_cap · tanh(logits / soft_cap) (Gemma 2); 0: they stay
    std::int64_t chunk = 0;  // rows of logits that exist at once; 0 chooses
};

// The cross entropy of x · weightᵀ. x (…, W), weight (V, W), targets i64 (…). The logits exist for `chunk` rows at a
// time only; while recording, each chunk's gradients are taken at once, so that nothing is kept or computed twice.
Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets,
                            const LinearCrossEntropyOptions& options = {});

}  // namespace tessera::ops
