#include "tessera/nn/norm.h"

#include "tessera/ops/cast.h"
#include "tessera/ops/norm.h"

namespace tessera::nn {

LayerNorm::LayerNorm(std::int64_t width, double eps, bool has_bias)
    : weight(Tensor::deferred({width})), bias(has_bias ? Tensor::deferred({width}) : Tensor()), eps(eps) {}

Tensor LayerNorm::forward(const Tensor& x) const {
    return ops::layer_norm(x, ops::cast(weight, x.dtype()), bias.defined() ? ops::cast(bias, x.dtype()) : bias, eps);
}

void LayerNorm::visit(const Visitor& visitor) {
    visitor("weight", weight);
    visitor("bias", bias);
}

RmsNorm::RmsNorm(std::int64_t width, double eps, NormWeight meaning)
    : weight(Tensor::deferred({width})), eps(eps), meaning(meaning) {}

Tensor RmsNorm::forward(const Tensor& x) const {
    return ops::rms_norm(x, ops::cast(weight, x.dtype()),
                         {.eps = eps, .weight_offset = meaning == NormWeight::OnePlus ? 1.0 : 0.0});
}

void RmsNorm::visit(const Visitor& visitor) { visitor("weight", weight); }

void RmsNorm::initialise_own() {
    if (meaning == NormWeight::OnePlus && weight.is_deferred())
        weight = Tensor::zeros(weight.shape(), weight.dtype(), weight.device());
}

}  // namespace tessera::nn
