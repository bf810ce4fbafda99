#include "tessera/nn/embedding.h"

#include "tessera/ops/gather.h"
#include "tessera/ops/linear.h"

namespace tessera::nn {

Embedding::Embedding(std::int64_t count, std::int64_t width, DType dtype)
    : weight(Tensor::deferred({count, width}, dtype)) {}

Tensor Embedding::forward(const Tensor& ids) const { return ops::embedding(weight, ids, padding_id); }
Tensor Embedding::logits(const Tensor& hidden) const { return ops::linear(hidden, weight, {}); }
void Embedding::visit(const Visitor& visitor) { visitor("weight", weight); }

}  // namespace tessera::nn
