// Cross entropy of rows of logits against target classes, fused with log-softmax. For a row l with target t, over V
// classes, with S = logsumexp(l):
//
//     loss = (1 − smoothing) · (S − l_t) + smoothing · (S − mean(l)) + z_loss · S²
//
// A row whose target is ignore_index has loss 0 and gradient 0. With soft_cap c > 0, l is first replaced by c ·
// tanh(l/c). Per-row results and factors are f64 for f64 logits and f32 otherwise.
#pragma once

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

struct CrossEntropyRule {
    std::int64_t ignore_index = -100;
    double label_smoothing = 0;
    double z_loss = 0;
    double soft_cap = 0;
};

// Throws, naming value and vocabulary, where a target is neither ignored nor in [0, vocabulary).
// scale (): 1 / how many targets are not ignored, or 0 where all are.
inline Slot<void(const View& targets, std::int64_t vocabulary, std::int64_t ignore_index, const View& scale)>
    target_scale{"target_scale"};
// logits (N, V), targets i64 (N) → losses (N), log_sums (N). Rows of logits have stride 1.
inline Slot<void(const View& logits, const View& targets, const CrossEntropyRule& rule, const View& losses,
                 const View& log_sums)>
    cross_entropy{"cross_entropy"};
// gradient (N, V) = factor () · d loss / d logits. It may be the logits themselves.
inline Slot<void(const View& logits, const View& targets, const View& log_sums, const View& factor,
                 const CrossEntropyRule& rule, const View& gradient)>
    cross_entropy_backward{"cross_entropy_backward"};

}  // namespace tessera::kernels
