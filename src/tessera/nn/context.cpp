#include "tessera/nn/context.h"

#include "tessera/ops/dropout.h"

namespace tessera::nn {

Tensor drop(const Tensor& x, double probability, const Context& context, std::uint64_t use) {
    if (!context.training || probability == 0) return x;
    return ops::dropout(x, probability, context.key.child(use));
}

}  // namespace tessera::nn
