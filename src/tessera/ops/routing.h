// Which experts see which tokens, and the loss that keeps experts equally busy.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::ops {

struct RoutingOptions {
    std::int64_t k = 2;           // experts per token
    bool normalise = false;       // weights of a token sum to 1. The same as a softmax over only the k chosen logits.
    double scaling = 1;           // all weights times this
    std::int64_t groups = 1;      // DeepSeek-V2: experts in so many groups of neighbours,
    std::int64_t top_groups = 1;  // chosen only from so many of them, those with the most probable expert
};

struct Routing {
    Tensor weights;  // (N, k)
    Tensor indices;  // i64 (N, k), the most probable first
};

// logits (N, E): softmax, then the k largest.
Routing route(const Tensor& logits, const RoutingOptions& options);

// Switch Transformer (Fedus et al. 2021), for k experts as in Mixtral: E · Σ_e f_e · P_e, where f_e is how many of the
// N·k choices fell on expert e, divided by N, and P_e its mean probability. It is k where all are equally busy.
Tensor load_balancing_loss(const Tensor& logits, const Tensor& indices);

}  // namespace tessera::ops
