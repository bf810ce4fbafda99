#include "tessera/ops/additive_attention.h"

#include "tessera/kernels/additive_attention.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/compute_dtype.h"
#include "tessera/ops/matmul.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

void check_operands(const Tensor& query, const Tensor& key, const Tensor& w_v, const Tensor& value,
                    const Tensor& lengths) {
    check(query.rank() == 3 && key.rank() == 3 && value.rank() == 3 && w_v.rank() == 1 &&
              query.size(0) == key.size(0) && key.size(0) == value.size(0) && key.size(1) == value.size(1) &&
              query.size(2) == key.size(2) && key.size(2) == w_v.size(0),
          "additive_attention: query ", query.shape(), ", key ", key.shape(), ", w_v ", w_v.shape(), " and value ",
          value.shape(), " do not fit");
    for (const Tensor* other : {&key, &w_v, &value})
        check(is_float(query.dtype()) && other->dtype() == query.dtype() && other->device() == query.device(),
              "additive_attention: ", other->dtype(), " on ", other->device(), " beside a query of ", query.dtype(),
              " on ", query.device());
    check(!lengths.defined() || (lengths.dtype() == DType::I64 && lengths.shape() == Shape{query.size(0)} &&
                                 lengths.device() == query.device()),
          "additive_attention: lengths must be i64 of ", Shape{query.size(0)}, " on ", query.device(), ", not ",
          lengths.dtype(), " of ", lengths.shape());
}

Tensor attention_weights(const Tensor& query, const Tensor& key, const Tensor& w_v, const Tensor& lengths) {
    const DType given = query.dtype(), dtype = compute_dtype(given);
    const auto ready = [&](const Tensor& x) { return x.detach().to(dtype).contiguous(); };
    const Tensor q = ready(query), k = ready(key), w = ready(w_v);
    const Tensor reach = lengths.defined() ? lengths.contiguous() : Tensor();
    const Tensor weights = Tensor::empty({query.size(0), query.size(1), key.size(1)}, dtype, query.device());
    kernels::additive_attention.on(query.device())({q.view(), k.view(), w.view(), reach.view(), weights.view()});
    return record(
        "additive_attention", weights.to(given), {query, key, w_v},
        [q, k, w, reach, weights, given, dtype](const Tensor& gradient) -> Gradients {
            const Tensor query_gradient = q.empty_like(), key_gradient = k.empty_like();
            const Tensor w_v_gradient = Tensor::empty({q.size(0), q.size(2)}, dtype, q.device());
            kernels::additive_attention_backward.on(q.device())(
                {q.view(), k.view(), w.view(), reach.view(), weights.view()},
                {gradient.to(dtype).contiguous().view(), query_gradient.view(), key_gradient.view(),
                 w_v_gradient.view()});
            return {query_gradient.to(given), key_gradient.to(given), sum_to(w_v_gradient, w.shape()).to(given)};
        });
}

}  // namespace

AdditiveAttention additive_attention(const Tensor& query, const Tensor& key, const Tensor& w_v, const Tensor& value,
                                     const Tensor& lengths) {
    check_operands(query, key, w_v, value, lengths);
    const Tensor weights = attention_weights(query, key, w_v, lengths);
    return {matmul(weights, value), weights};
}

}  // namespace tessera::ops
