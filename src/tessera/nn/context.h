// What varies from call to call and is passed down, never stored: so a module is const and shared between requests.
#pragma once

#include <optional>
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
    double label_smoothing = 0;    // of the loss: this share of a target is spread over all classes
    double z_loss = 0;             // of the loss: this times log² of the softmax's sum is added
    // Of the loss: this times how unequally experts are busy is added. Nothing: as much as the model's config says.
    std::optional<double> balance = {};
    std::vector<RouterChoice>* router_choices = nullptr;  // where layers of experts leave what they decided
    // Where attention to an encoder's states leaves what it looked at, (B, U, S) of each layer, the mean of its heads.
    std::vector<Tensor>* cross_attention = nullptr;

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
