#include "tessera/ops/nadaraya_watson.h"

#include "tessera/ops/compute_dtype.h"
#include "tessera/ops/matmul.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

bool share_leading(const Tensor& a, const Tensor& b) {
    if (a.rank() != b.rank()) return false;
    for (int i = 0; i + 2 < a.rank(); ++i)
        if (a.shape()[i] != b.shape()[i]) return false;
    return true;
}

void check_operands(const Tensor& queries, const Tensor& keys, const Tensor& values, double width) {
    check(queries.rank() >= 2 && share_leading(queries, keys) && share_leading(queries, values) &&
              queries.size(-1) == keys.size(-1) && keys.size(-2) == values.size(-2),
          "nadaraya_watson: queries ", queries.shape(), ", keys ", keys.shape(), " and values ", values.shape(),
          " do not fit");
    for (const Tensor* other : {&keys, &values})
        check(is_float(queries.dtype()) && other->dtype() == queries.dtype() && other->device() == queries.device(),
              "nadaraya_watson: ", other->dtype(), " on ", other->device(), " beside queries of ", queries.dtype(),
              " on ", queries.device());
    check(width > 0, "nadaraya_watson: a width of ", width, " reaches nothing");
}

// queries (B, Q, D), keys (B, K, D) → (B, Q, K)
Tensor pooling_weights(const Tensor& queries, const Tensor& keys, PoolingKernel kernel, double width) {
    const DType given = queries.dtype(), dtype = compute_dtype(given);
    const auto ready = [&](const Tensor& x) { return x.detach().to(dtype).contiguous(); };
    const Tensor q = ready(queries), k = ready(keys);
    const Tensor weights = Tensor::empty({q.size(0), q.size(1), k.size(1)}, dtype, q.device());
    kernels::nadaraya_watson.on(q.device())({kernel, width, q.view(), k.view(), weights.view()});
    return record("nadaraya_watson", weights.to(given), {queries, keys}, [=](const Tensor& gradient) -> Gradients {
        const Tensor queries_gradient = q.empty_like(), keys_gradient = k.empty_like();
        kernels::nadaraya_watson_backward.on(q.device())({kernel, width, q.view(), k.view(), weights.view()},
                                                         gradient.to(dtype).contiguous().view(),
                                                         queries_gradient.view(), keys_gradient.view());
        return {queries_gradient.to(given), keys_gradient.to(given)};
    });
}

}  // namespace

Tensor nadaraya_watson(const Tensor& queries, const Tensor& keys, const Tensor& values, PoolingKernel kernel,
                       double width) {
    check_operands(queries, keys, values, width);
    std::int64_t batch = 1;
    Shape out;
    for (int i = 0; i + 2 < queries.rank(); ++i) {
        batch *= queries.shape()[i];
        out.push_back(queries.shape()[i]);
    }
    out.push_back(queries.size(-2));
    out.push_back(values.size(-1));
    const auto stacked = [&](const Tensor& x) { return reshape(x, {batch, x.size(-2), x.size(-1)}); };
    return reshape(matmul(pooling_weights(stacked(queries), stacked(keys), kernel, width), stacked(values)), out);
}

}  // namespace tessera::ops
