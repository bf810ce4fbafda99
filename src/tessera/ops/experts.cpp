#include "tessera/ops/experts.h"

#include "tessera/kernels/expert_rows.h"
#include "tessera/kernels/gemm.h"
#include "tessera/kernels/reduce.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/views.h"
#include "tessera/ops/weight_product.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

void check_plan(const char* op, const Tensor& rows, const ExpertPlan& plan) {
    check(rows.rank() == 2 && is_float(rows.dtype()) && rows.size(0) == plan.tokens.size(0), op, ": ", rows.dtype(),
          " rows of ", rows.shape(), " do not fit a plan of ", plan.positions.shape(), " choices");
}

Tensor run_combine(const Tensor& rows, const Tensor& weights, const Tensor& positions) {
    const Tensor out = Tensor::empty({positions.size(0), rows.size(1)}, rows.dtype(), rows.device());
    kernels::combine_rows.on(rows.device())(rows.view(), weights.view(), positions.view(), out.view());
    return out;
}

// Calls body(expert, first row, last row) for every expert that has rows.
template <class Body>
void for_experts(const Tensor& counts, Body&& body) {
    std::int64_t first = 0;
    for (std::int64_t expert = 0; expert < counts.elements(); ++expert) {
        const std::int64_t count = counts.data<std::int64_t>()[expert];
        if (count > 0) body(expert, first, first + count);
        first += count;
    }
}

}  // namespace

ExpertPlan plan_experts(const Tensor& indices, std::int64_t expert_count) {
    check(indices.rank() == 2 && indices.dtype() == DType::I64, "plan_experts: needs i64 indices of (tokens, k), not ",
          indices.dtype(), " of ", indices.shape());
    const Tensor host = indices.detach().to(cpu).contiguous();
    const std::int64_t* experts = host.data<std::int64_t>();
    const std::int64_t choices = indices.elements();
    const Tensor counts = Tensor::zeros({expert_count}, DType::I64);
    for (std::int64_t choice = 0; choice < choices; ++choice) {
        const std::int64_t expert = experts[choice];
        check(0 <= expert && expert < expert_count, "plan_experts: expert ", expert, " of ", expert_count);
        ++counts.data<std::int64_t>()[expert];
    }
    const Tensor next = Tensor::zeros({expert_count}, DType::I64);  // the next free row of each expert
    for_experts(counts, [&](std::int64_t expert, std::int64_t first, std::int64_t) {
        next.data<std::int64_t>()[expert] = first;
    });
    const Tensor tokens = Tensor::empty({choices}, DType::I64), positions = Tensor::empty(indices.shape(), DType::I64);
    for (std::int64_t choice = 0; choice < choices; ++choice) {
        const std::int64_t row = next.data<std::int64_t>()[experts[choice]]++;
        positions.data<std::int64_t>()[choice] = row;
        tokens.data<std::int64_t>()[row] = choice / indices.size(1);
    }
    return {counts, tokens.to(indices.device()), positions.to(indices.device())};
}

Tensor dispatch(const Tensor& x, const ExpertPlan& plan) {
    check(x.rank() == 2 && is_float(x.dtype()) && x.size(0) == plan.positions.size(0), "dispatch: ", x.dtype(),
          " x of ", x.shape(), " does not fit a plan of ", plan.positions.shape(), " choices");
    const Tensor rows = x.detach().contiguous();
    const Tensor out = Tensor::empty({plan.tokens.size(0), x.size(1)}, x.dtype(), x.device());
    kernels::gather_rows.on(x.device())(rows.view(), plan.tokens.view(), out.view());
    return record("dispatch", out, {x}, [positions = plan.positions](const Tensor& gradient) -> Gradients {
        return {run_combine(gradient.contiguous(), {}, positions)};
    });
}

Tensor grouped_linear(const Tensor& x, const Tensor& weight, const ExpertPlan& plan, const Tensor& bias) {
    check_plan("grouped_linear", x, plan);
    check_weight("grouped_linear", x, weight);
    check(weight.rank() == 3 && weight.size(2) == x.size(1) && weight.size(0) == plan.counts.size(0),
          "grouped_linear: x of ", x.shape(), " does not fit weights of ", weight.shape(), " for ", plan.counts.size(0),
          " experts");
    check(!bias.defined() || (bias.rank() == 2 && bias.size(0) == weight.size(0) && bias.size(1) == weight.size(1) &&
                              bias.dtype() == x.dtype()),
          "grouped_linear: bias of ", bias.shape(), " does not fit weights of ", weight.shape());
    const Tensor rows = x.detach().to(matmul_input_dtype(x, weight)), weights = weight.detach(), biases = bias.detach();
    const Tensor out = Tensor::empty({x.size(0), weight.size(1)}, x.dtype(), x.device());
    const auto gemm = kernels::gemm.on(x.device());
    for_experts(plan.counts, [&](std::int64_t expert, std::int64_t first, std::int64_t last) {
        const Tensor expert_bias = biases.defined() ? select(biases, 0, expert) : Tensor();
        weight_product(slice(rows, 0, first, last), select(weights, 0, expert), expert_bias,
                       slice(out, 0, first, last));
    });
    return record(
        "grouped_linear", out, {x, weight, bias},
        [rows, weights, gemm, counts = plan.counts, wants_x = x.requires_grad(), wants_weight = weight.requires_grad(),
         wants_bias = bias.requires_grad()](const Tensor& gradient) -> Gradients {
            const DType dtype = gradient.dtype();
            const Tensor factors = gradient.to(rows.dtype());
            Tensor dx, dw, db;
            if (wants_x) dx = Tensor::empty(rows.shape(), dtype, rows.device());
            if (wants_weight) dw = Tensor::zeros(weights.shape(), dtype, rows.device());
            if (wants_bias) db = Tensor::zeros({weights.size(0), weights.size(1)}, dtype, rows.device());
            for_experts(counts, [&](std::int64_t expert, std::int64_t first, std::int64_t last) {
                const Tensor piece = slice(factors, 0, first, last);
                if (wants_x) linear_input_gradient(piece, select(weights, 0, expert), slice(dx, 0, first, last));
                if (wants_weight)
                    gemm(transpose(piece, 0, 1).view(), slice(rows, 0, first, last).view(), {},
                         select(dw, 0, expert).view(), {});
                if (wants_bias)
                    kernels::sum.on(gradient.device())(slice(gradient, 0, first, last).view(),
                                                       slice(db, 0, expert, expert + 1).view());
            });
            return {dx, dw, db};
        });
}

Tensor combine(const Tensor& rows, const Tensor& weights, const ExpertPlan& plan) {
    check_plan("combine", rows, plan);
    check(weights.shape() == plan.positions.shape() && weights.dtype() == rows.dtype(), "combine: ", weights.dtype(),
          " weights of ", weights.shape(), " do not fit ", rows.dtype(), " rows for ", plan.positions.shape(),
          " choices");
    const Tensor dense = rows.detach().contiguous(), factors = weights.detach().contiguous();
    return record("combine", run_combine(dense, factors, plan.positions), {rows, weights},
                  [dense, factors, positions = plan.positions](const Tensor& gradient) -> Gradients {
                      const Tensor row_gradient = dense.empty_like(), weight_gradient = factors.empty_like();
                      kernels::combine_rows_backward.on(dense.device())(gradient.contiguous().view(), dense.view(),
                                                                        factors.view(), positions.view(),
                                                                        row_gradient.view(), weight_gradient.view());
                      return {row_gradient, weight_gradient};
                  });
}

}  // namespace tessera::ops
