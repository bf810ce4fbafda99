#include "tessera/ops/routing.h"

#include <vector>

#include "tessera/kernels/routing.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/compute_dtype.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

void check_options(const Tensor& logits, const RoutingOptions& options) {
    check(logits.rank() == 2 && is_float(logits.dtype()), "route: needs float logits of (tokens, experts), not ",
          logits.dtype(), " of ", logits.shape());
    const std::int64_t experts = logits.size(1);
    check(options.groups >= 1 && experts % options.groups == 0, "route: ", experts, " experts do not fall into ",
          options.groups, " groups");
    check(1 <= options.top_groups && options.top_groups <= options.groups, "route: ", options.top_groups, " of ",
          options.groups, " groups");
    const std::int64_t available = options.groups > 1 ? experts / options.groups * options.top_groups : experts;
    check(1 <= options.k && options.k <= available, "route: ", options.k, " experts chosen from ", available, " of ",
          logits.shape());
}

}  // namespace

Routing route(const Tensor& logits, const RoutingOptions& options) {
    check_options(logits, options);
    const kernels::RoutingRule rule{options.normalise, options.scaling, options.groups, options.top_groups};
    const Tensor rows = logits.detach().contiguous();
    const Shape chosen{rows.size(0), options.k};
    const Tensor probabilities = Tensor::empty(rows.shape(), compute_dtype(rows.dtype()), rows.device());
    const Tensor indices = Tensor::empty(chosen, DType::I64, rows.device());
    const Tensor weights = Tensor::empty(chosen, rows.dtype(), rows.device());
    kernels::route.on(rows.device())(rows.view(), rule, probabilities.view(), indices.view(), weights.view());
    const Tensor recorded =
        record("route", weights, {logits}, [probabilities, indices, rule](const Tensor& gradient) -> Gradients {
            const Tensor out = Tensor::empty(probabilities.shape(), gradient.dtype(), gradient.device());
            kernels::route_backward.on(gradient.device())(probabilities.view(), indices.view(),
                                                          gradient.contiguous().view(), rule, out.view());
            return {out};
        });
    return {recorded, indices};
}

Tensor load_balancing_loss(const Tensor& logits, const Tensor& indices) {
    check(logits.rank() == 2 && indices.rank() == 2 && logits.size(0) == indices.size(0) && logits.size(0) > 0 &&
              indices.dtype() == DType::I64,
          "load_balancing_loss: logits of ", logits.shape(), " do not fit ", indices.dtype(), " indices of ",
          indices.shape());
    const std::int64_t tokens = logits.size(0), experts = logits.size(1);
    std::vector<double> shares(static_cast<std::size_t>(experts));
    for (const std::int64_t index : indices.to_vector<std::int64_t>()) {
        check(0 <= index && index < experts, "load_balancing_loss: expert ", index, " of ", experts);
        shares[static_cast<std::size_t>(index)] += 1.0 / static_cast<double>(tokens);
    }
    const DType dtype = compute_dtype(logits.dtype());
    const Tensor busy = Tensor::from(shares, {experts}).to(dtype).to(logits.device());
    const Tensor rows = logits.detach().contiguous();
    const Tensor losses = Tensor::empty({tokens}, dtype, logits.device());
    kernels::load_balance.on(rows.device())(rows.view(), busy.view(), losses.view());
    return record(
        "load_balancing_loss", sum_to(losses, {}), {logits}, [rows, busy](const Tensor& gradient) -> Gradients {
            const Tensor out = rows.empty_like();
            kernels::load_balance_backward.on(rows.device())(rows.view(), busy.view(), gradient.view(), out.view());
            return {out};
        });
}

}  // namespace tessera::ops
