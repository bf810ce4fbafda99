#include "tessera/models/next_token.h"

#include "tessera/ops/views.h"

namespace tessera::models {

Tensor next_token_loss(const Tensor& logits, const Batch& batch, const LossOptions& options) {
    const Tensor& labels = batch.labels.defined() ? batch.labels : batch.input_ids;
    const std::int64_t count = logits.size(1);
    check(labels.shape() == batch.input_ids.shape() && count > 1, "labels: expected ", batch.input_ids.shape(),
          " of at least two tokens, found ", labels.shape());
    return ops::cross_entropy(ops::slice(logits, 1, 0, count - 1), ops::slice(labels, 1, 1, count),
                              options.cross_entropy());
}

}  // namespace tessera::models
