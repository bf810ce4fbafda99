#include "tessera/nn/norm.h"

#include "tessera/ops/cast.h"

namespace tessera::nn {
namespace {

// Weights may be narrower than what is normed.
Tensor like(const Tensor& x, const Tensor& weight) { return weight.defined() ? ops::cast(weight, x.dtype()) : weight; }

}  // namespace

LayerNorm::LayerNorm(std::int64_t width, double eps, bool has_bias)
    : weight(Tensor::deferred({width})), bias(has_bias ? Tensor::deferred({width}) : Tensor()), eps(eps) {}

Tensor LayerNorm::forward(const Tensor& x) const { return ops::layer_norm(x, like(x, weight), like(x, bias), eps); }

ops::AddNorm LayerNorm::add_forward(const Tensor& x, const Tensor& residual) const {
    return ops::add_layer_norm(x, residual, like(x, weight), like(x, bias), eps);
}

void LayerNorm::visit(const Visitor& visitor) {
    visitor("weight", weight);
    visitor("bias", bias);
}

RmsNorm::RmsNorm(std::int64_t width, double eps, NormWeight meaning)
    : weight(Tensor::deferred({width})), eps(eps), meaning(meaning) {}

Tensor RmsNorm::forward(const Tensor& x) const { return ops::rms_norm(x, like(x, weight), options()); }

ops::AddNorm RmsNorm::add_forward(const Tensor& x, const Tensor& residual) const {
    return ops::add_rms_norm(x, residual, like(x, weight), options());
}

ops::RmsNormOptions RmsNorm::options() const {
    return {.eps = eps, .weight_offset = meaning == NormWeight::OnePlus ? 1.0 : 0.0};
}

void RmsNorm::visit(const Visitor& visitor) { visitor("weight", weight); }

void RmsNorm::initialise_own() {
    if (meaning == NormWeight::OnePlus && weight.is_deferred())
        weight = Tensor::zeros(weight.shape(), weight.dtype(), weight.device());
}

}  // namespace tessera::nn
