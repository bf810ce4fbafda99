#include "nn/attention/self_attention.h"

#include "ops/views.h"

namespace tessera::nn {

Tensor positions_or_default(const Context& context, std::int64_t count, const Cache* cache, Device device) {
    if (context.positions.defined()) return context.positions;
    const std::int64_t seen = cache ? cache->length() : 0;
    return ops::slice(Tensor::arange(seen + count, DType::I64, device), 0, seen, seen + count);
}

}  // namespace tessera::nn
