#include "tessera/nn/feed_forward.h"

#include <array>

#include "tessera/ops/binary.h"
#include "tessera/ops/gated.h"
#include "tessera/ops/unary.h"

namespace tessera::nn {

Tensor activate(Activation activation, const Tensor& x) {
    switch (activation) {
        case Activation::Relu: return ops::relu(x);
        case Activation::Gelu: return ops::gelu(x);
        case Activation::GeluTanh: return ops::gelu_tanh(x);
        case Activation::Silu: return ops::silu(x);
        case Activation::Sigmoid: return ops::sigmoid(x);
    }
    fail("unknown activation");
}

Tensor gated_activation(Activation activation, const Tensor& gate, const Tensor& up) {
    switch (activation) {
        case Activation::Silu: return ops::swiglu(gate, up);
        case Activation::Gelu: return ops::geglu(gate, up, false);
        case Activation::GeluTanh: return ops::geglu(gate, up, true);
        case Activation::Relu: return ops::mul(ops::relu(gate), up);
        case Activation::Sigmoid: return ops::mul(ops::sigmoid(gate), up);
    }
    fail("unknown activation");
}

FeedForward::FeedForward(const FeedForwardSettings& settings)
    : up(settings.width, settings.hidden, settings.has_bias),
      down(settings.hidden, settings.width, settings.has_bias),
      activation(settings.activation),
      gated(settings.gated),
      dropout(settings.dropout) {
    if (gated) gate = Linear(settings.width, settings.hidden, settings.has_bias);
}

Tensor FeedForward::hidden_of(const Tensor& x, const Context& context, DType dtype) const {
    if (!gated) return activate(activation, up.forward(x, context, dtype));
    std::array<Tensor, 2> both;
    forward_many(std::array{&gate, &up}, x, context, dtype, both);
    return gated_activation(activation, both[0], both[1]);
}

Tensor FeedForward::forward(const Tensor& x, const Context& context) const {
    constexpr std::uint64_t inside_feed_forward = 16;  // past the uses of the blocks, which hand down their own key
    const DType inner = up.matmul_input_dtype(x);      // between the products nothing is wider than they take it
    return down.forward(drop(hidden_of(x, context, inner), dropout, context, inside_feed_forward), context, x.dtype());
}

void FeedForward::visit(const Visitor& visitor) {
    if (gated) visitor("gate", gate);
    visitor("up", up);
    visitor("down", down);
}

}  // namespace tessera::nn
