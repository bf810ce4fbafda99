#include "nn/linear.h"

#include "ops/binary.h"
#include "ops/matmul.h"

namespace tessera::nn {

Linear::Linear(std::int64_t in, std::int64_t out, bool has_bias, DType dtype)
    : weight(Tensor::deferred({out, in}, dtype)), bias(has_bias ? Tensor::deferred({out}, dtype) : Tensor()) {}

Tensor Linear::forward(const Tensor& x, const Context& context) const {
    const Tensor y = ops::linear(x, weight, bias);
    return adapter ? ops::add(y, adapter->forward(x, context)) : y;
}

void Linear::visit(const Visitor& visitor) {
    visitor("weight", weight);
    visitor("bias", bias);
    if (adapter) adapter->visit(visitor);
}

}  // namespace tessera::nn
