#include "tessera/nn/attention/additive.h"

#include "tessera/ops/cast.h"

namespace tessera::nn {

AdditiveAttention::AdditiveAttention(const AdditiveSettings& settings)
    : query(settings.query_width, settings.hidden, false),
      key(settings.key_width, settings.hidden, false),
      score(Tensor::deferred({settings.hidden})) {}

ops::AdditiveAttention AdditiveAttention::forward(const Tensor& queries, const Tensor& projected_keys,
                                                  const Tensor& values, const Tensor& lengths) const {
    return ops::additive_attention(query.forward(queries), projected_keys, ops::cast(score, queries.dtype()), values,
                                   lengths);
}

void AdditiveAttention::visit(const Visitor& visitor) {
    visitor("query", query);
    visitor("key", key);
    visitor("score", score);
}

}  // namespace tessera::nn
