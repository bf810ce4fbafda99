// Rows of tokens to the experts chosen for them, and back:
//
//     Routing routing = route(logits, {.k = 2});
//     ExpertPlan plan = plan_experts(routing.indices, expert_count);
//     Tensor rows = dispatch(x, plan);                       // (N·k, W), sorted by expert
//     Tensor y = grouped_linear(rows, weight, plan);         // each expert's rows times its own weight
//     Tensor out = combine(y, routing.weights, plan);        // (N, W)
//
// No token is dropped, and no expert is padded.
#pragma once

#include "tessera/ops/routing.h"
#include "tessera/tensor/tensor.h"

namespace tessera::ops {

struct ExpertPlan {
    Tensor counts;     // i64 (E), on the host: rows per expert
    Tensor tokens;     // i64 (N·k): the token of each sorted row; an expert's tokens in rising order
    Tensor positions;  // i64 (N, k): the sorted row of each choice
};

// indices i64 (N, k)
ExpertPlan plan_experts(const Tensor& indices, std::int64_t expert_count);

// x (N, W) → (N·k, W)
Tensor dispatch(const Tensor& x, const ExpertPlan& plan);
// x (N·k, in) sorted by expert, weight (E, out, in), which may be quantised, bias (E, out) or undefined → (N·k, out)
Tensor grouped_linear(const Tensor& x, const Tensor& weight, const ExpertPlan& plan, const Tensor& bias = {});
// rows (N·k, W), weights (N, k) → (N, W): each token's results, weighted and summed
Tensor combine(const Tensor& rows, const Tensor& weights, const ExpertPlan& plan);

}  // namespace tessera::ops
