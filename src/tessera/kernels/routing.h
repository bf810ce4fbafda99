// Choosing experts for tokens: one fused pass over rows of router logits, and its gradient.
#pragma once

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

struct RoutingRule {
    bool normalise = false;
    double scaling = 1;
    std::int64_t groups = 1;      // experts fall into this many groups of neighbours;
    std::int64_t top_groups = 1;  // only those of the groups with the best expert may be chosen
};

// logits (N, E), rows of stride 1 → probabilities (N, E) (softmax; f64 for f64 logits, f32 otherwise), indices i64 (N,
// k) of the k most probable experts in falling order (the lower index first among equals), weights (N, k): their
// probabilities, divided by their sum where `normalise`, times `scaling`.
inline Slot<void(const View& logits, const RoutingRule& rule, const View& probabilities, const View& indices,
                 const View& weights)>
    route{"route"};
inline Slot<void(const View& probabilities, const View& indices, const View& weight_gradient, const RoutingRule& rule,
                 const View& logit_gradient)>
    route_backward{"route_backward"};

// With P the mean over rows of softmax(logits) and shares (E) constants: losses (N) sum to E · Σ_e shares_e · P_e.
inline Slot<void(const View& logits, const View& shares, const View& losses)> load_balance{"load_balance"};
inline Slot<void(const View& logits, const View& shares, const View& factor, const View& logit_gradient)>
    load_balance_backward{"load_balance_backward"};

}  // namespace tessera::kernels
