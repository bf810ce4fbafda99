#include "tessera/nn/linear.h"

#include <algorithm>

#include "tessera/ops/binary.h"
#include "tessera/ops/cast.h"
#include "tessera/ops/linear.h"
#include "tessera/tensor/tape.h"

namespace tessera::nn {

Linear::Linear(std::int64_t in, std::int64_t out, bool has_bias, DType dtype)
    : weight(Tensor::deferred({out, in}, dtype)), bias(has_bias ? Tensor::deferred({out}, dtype) : Tensor()) {}

Tensor Linear::forward(const Tensor& x, const Context& context, std::optional<DType> result) const {
    return with_adapter(ops::linear(x, weight, bias, result), x, context);
}

Tensor Linear::with_adapter(const Tensor& y, const Tensor& x, const Context& context) const {
    return adapter ? ops::add(y, ops::cast(adapter->forward(x, context), y.dtype())) : y;
}

DType Linear::matmul_input_dtype(const Tensor& x) const { return ops::matmul_input_dtype(x, weight); }

void Linear::visit(const Visitor& visitor) {
    visitor("weight", weight);
    visitor("bias", bias);
    if (adapter) adapter->visit(visitor);
}

void forward_many(std::span<const Linear* const> layers, const Tensor& x, const Context& context,
                  std::optional<DType> result, std::span<Tensor> out) {
    const DType factor = layers[0]->matmul_input_dtype(x);
    const bool agree = std::all_of(layers.begin(), layers.end(),
                                   [&](const Linear* layer) { return layer->matmul_input_dtype(x) == factor; });
    if (!agree || !recording()) {  // a list of maps is for the tape: decoding takes nothing from the system
        for (std::size_t i = 0; i < layers.size(); ++i) out[i] = layers[i]->forward(x, context, result);
        return;
    }
    std::vector<ops::LinearMap> maps;
    for (const Linear* layer : layers) maps.push_back({layer->weight, layer->bias});
    const std::vector<Tensor> results = ops::linear(x, maps, result);
    for (std::size_t i = 0; i < layers.size(); ++i) out[i] = layers[i]->with_adapter(results[i], x, context);
}

}  // namespace tessera::nn
