#include "tessera/nn/attention/self_attention.h"

#include <numeric>

#include "tessera/ops/views.h"

namespace tessera::nn {

Tensor SelfAttention::forward_first(const Tensor& x, std::int64_t count, const Context& context) const {
    return ops::slice(forward(x, context), 1, 0, count);
}

Tensor consecutive_positions(std::int64_t first, std::int64_t count, Device device) {
    const Tensor positions = Tensor::empty({count}, DType::I64);
    std::iota(positions.data<std::int64_t>(), positions.data<std::int64_t>() + count, first);
    return positions.to(device);
}

Tensor positions_or_default(const Context& context, std::int64_t count, const Cache* cache, Device device) {
    if (context.positions.defined()) return context.positions;
    return consecutive_positions(cache ? cache->length() : 0, count, device);
}

}  // namespace tessera::nn
