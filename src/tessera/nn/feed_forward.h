// The position-wise network between attentions: down(activation(up(x))), or gated: down(activation(gate(x)) · up(x))
// (GLU variants, Shazeer 2020: swiglu is gated silu, geglu gated gelu).
#pragma once

#include "tessera/nn/context.h"
#include "tessera/nn/linear.h"

namespace tessera::nn {

// What a block asks of the part after attention: each token on its own, (…, width) → (…, width).
class PositionWise : public Module {
   public:
    virtual Tensor forward(const Tensor& x, const Context& context) const = 0;
};

enum class Activation { Relu, Gelu, GeluTanh, Silu, Sigmoid };
Tensor activate(Activation activation, const Tensor& x);

struct FeedForwardSettings {
    std::int64_t width = 0;
    std::int64_t hidden = 0;
    Activation activation = Activation::Gelu;
    bool gated = false;
    bool has_bias = true;
    double dropout = 0;  // after the activation
};

class FeedForward : public PositionWise {
   public:
    explicit FeedForward(const FeedForwardSettings& settings);
    Tensor forward(const Tensor& x, const Context& context = {}) const override;
    void visit(const Visitor& visitor) override;

    Linear gate, up, down;  // gate has no weight unless gated
    Activation activation;
    bool gated;
    double dropout;

   private:
    Tensor hidden_of(const Tensor& x, const Context& context, DType dtype) const;
};

// activation(gate) · up, fused where there is a kernel for it.
Tensor gated_activation(Activation activation, const Tensor& gate, const Tensor& up);

}  // namespace tessera::nn
