#include "nn/linear.h"

#include "ops/binary.h"
#include "ops/cast.h"
#include "ops/matmul.h"

namespace tessera::nn {

Linear::Linear(std::int64_t in, std::int64_t out, bool has_bias, DType dtype)
    : weight(Tensor::deferred({out, in}, dtype)), bias(has_bias ? Tensor::deferred({out}, dtype) : Tensor()) {}

Tensor Linear::forward(const Tensor& x, const Context& context, std::optional<DType> result) const {
    const Tensor y = ops::linear(x, weight, bias, result);
    return adapter ? ops::add(y, ops::cast(adapter->forward(x, context), y.dtype())) : y;
}

DType Linear::factor_dtype(const Tensor& x) const { return ops::factor_dtype(x, weight); }

void Linear::visit(const Visitor& visitor) {
    visitor("weight", weight);
    visitor("bias", bias);
    if (adapter) adapter->visit(visitor);
}

}  // namespace tessera::nn
