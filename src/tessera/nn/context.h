// The context of a call, passed down and never stored: so a module is const and shared between requests.
#pragma once

#include <vector>

#include "tessera/core/random.h"
#include "tessera/ops/attention.h"
#include "tessera/tensor/tensor.h"

namespace tessera::nn {

// What a layer of experts decided: its router's logits (N, E), and the experts of each token, i64 (N, k).
struct RouterChoice {
    Tensor logits, indices;
};

struct Context {
    Tensor positions = {};  // i64 (T) or (B, T): where each token stands; undefined: 0, 1, 2, … after the cache
    ops::AttentionMask mask = {};  // which keys each query of self attention sees
    Tensor bias = {};              // added to the scores of self attention (T5's relative positions)
    Tensor global_tokens = {};     // (B, T) bool: see and are seen by all, beside a window; undefined: none
    bool training = false;         // dropout is on
    bool recompute = false;        // stacks run each block again in backward instead of keeping its inside
    RandomKey key = {};            // of this step
    std::vector<RouterChoice>* router_choices = nullptr;  // where layers of experts leave what they decided
    // Where attention to an encoder's states leaves what it looked at, (B, U, S) of each layer, the mean of its heads.
    std::vector<Tensor>* cross_attention = nullptr;

    // Every tensor that a call is given, by name: a mask is one of them as soon as it is a member. The binding names
    // all members, so that a new one does not compile before it stands here.
    template <class OnTensor>
    void visit(const OnTensor& on_tensor) {
        [[maybe_unused]] auto& [where, which, added, everywhere, in_training, again, random, routers, looked_at] =
            *this;
        on_tensor("positions", where);
        which.visit([&](const char* name, Tensor& tensor) { on_tensor(name, tensor); });
        on_tensor("bias", added);
        on_tensor("global_tokens", everywhere);
    }

    // The same context with a random key of its own, for layer or use `index`.
    Context child(std::uint64_t index) const {
        Context context = *this;
        context.key = key.child(index);
        return context;
    }
};

// Dropout in training, nothing otherwise.
Tensor drop(const Tensor& x, double probability, const Context& context, std::uint64_t use);

}  // namespace tessera::nn
