#include "tessera/ops/experts.h"

#include <numeric>

#include "ops/expert_rows.h"
#include "support/op_case.h"

namespace tessera::testing {
namespace {

// Every token by itself: Σ_s weight_s · (W_e x + b_e) for its chosen experts e.
Tensor plain_experts(const Tensor& x, const Tensor& weights, const Tensor& indices, const Tensor& weight,
                     const Tensor& bias) {
    const Rows tokens = rows_of(x), factors = rows_of(weights), matrix = rows_of(weight), shift = rows_of(bias);
    const auto chosen = indices.to_vector<std::int64_t>();
    const auto k = static_cast<std::size_t>(indices.size(1)), width = static_cast<std::size_t>(weight.size(1));
    std::vector<double> out(tokens.size() * width);
    for (std::size_t n = 0; n < tokens.size(); ++n)
        for (std::size_t s = 0; s < k; ++s)
            for (std::size_t i = 0; i < width; ++i) {
                const auto expert = static_cast<std::size_t>(chosen[n * k + s]);
                const auto& row = matrix[expert * width + i];
                const double y = std::inner_product(row.begin(), row.end(), tokens[n].begin(), shift[expert][i]);
                out[n * width + i] += factors[n][s] * y;
            }
    return from_doubles(out, {x.size(0), weight.size(1)});
}

void add_experts(Cases& out, std::int64_t tokens, std::int64_t k, std::int64_t in_width, std::int64_t out_width) {
    const std::int64_t experts = 5;
    const Tensor indices = some_indices(tokens, k, experts);
    out.add({.name = text_of("experts/", tokens, "/", k, "/", in_width, "/", out_width),
             .inputs = {{.shape = {tokens, in_width}},
                        {.shape = {tokens, k}, .low = 0.1},
                        {.shape = {experts, out_width, in_width}},
                        {.shape = {experts, out_width}},
                        {.shape = {}, .differentiable = false, .dtype = DType::I64, .values = indices}},
             .op =
                 [experts](const Tensors& in) {
                     const ops::ExpertPlan plan = ops::plan_experts(in[4], experts);
                     return Tensors{ops::combine(ops::grouped_linear(ops::dispatch(in[0], plan), in[2], plan, in[3]),
                                                 in[1], plan)};
                 },
             .reference = [](const Tensors& in) { return Tensors{plain_experts(in[0], in[1], in[4], in[2], in[3])}; },
             .cuda = true});
}

const RegisterCases experts_cases{[](Cases& out) {
    for (const std::int64_t n : odd_sizes) {
        add_experts(out, n, 2, 17, 9);
    }
    add_experts(out, 7, 1, 1, 1);
    add_experts(out, 20, 3, 7, 1030);
}};

}  // namespace
}  // namespace tessera::testing
