#include "tessera/ops/routing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/expert_rows.h"
#include "support/op_case.h"

namespace tessera::testing {
namespace {

Rows softmax_of(Rows rows) {
    for (auto& row : rows) {
        double sum = 0;
        for (double& value : row) sum += value = std::exp(value);
        for (double& value : row) value /= sum;
    }
    return rows;
}

std::vector<std::int64_t> by_falling_score(const std::vector<double>& scores) {
    std::vector<std::int64_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
        return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
    });
    return order;
}

// DeepSeek's way: probabilities outside the best groups become 0 before the k largest are taken.
Tensors plain_route(const Tensor& logits, const ops::RoutingOptions& options) {
    std::vector<double> weights;
    std::vector<std::int64_t> indices;
    for (std::vector<double> p : softmax_of(rows_of(logits))) {
        const std::size_t group_size = p.size() / static_cast<std::size_t>(options.groups);
        std::vector<double> group_best;
        for (std::size_t i = 0; i < p.size(); i += group_size)
            group_best.push_back(*std::max_element(p.begin() + static_cast<std::ptrdiff_t>(i),
                                                   p.begin() + static_cast<std::ptrdiff_t>(i + group_size)));
        const auto groups = by_falling_score(group_best);
        if (options.groups > 1)
            for (std::size_t g = static_cast<std::size_t>(options.top_groups); g < groups.size(); ++g)
                std::fill_n(p.begin() + groups[g] * static_cast<std::ptrdiff_t>(group_size), group_size, 0.0);
        const auto order = by_falling_score(p);
        double sum = 0;
        for (std::int64_t s = 0; s < options.k; ++s)
            sum += p[static_cast<std::size_t>(order[static_cast<std::size_t>(s)])];
        for (std::int64_t s = 0; s < options.k; ++s) {
            indices.push_back(order[static_cast<std::size_t>(s)]);
            weights.push_back(p[static_cast<std::size_t>(indices.back())] / (options.normalise ? sum : 1) *
                              options.scaling);
        }
    }
    const Shape shape{logits.size(0), options.k};
    return {from_doubles(weights, shape), Tensor::from(indices, shape)};
}

void add_route(Cases& out, const std::string& name, const Shape& shape, const ops::RoutingOptions& options) {
    out.add({.name = "route/" + name,
             .inputs = {{.shape = shape, .low = -3, .high = 3}},
             .op =
                 [options](const Tensors& in) {
                     const ops::Routing routing = ops::route(in[0], options);
                     return Tensors{routing.weights, routing.indices};
                 },
             .reference = [options](const Tensors& in) { return plain_route(in[0], options); },
             .cuda = true});
}

// HF Mixtral: mean over tokens of the one-hot choices, times mean probabilities, times the number of experts.
Tensor plain_balance(const Tensor& logits, const Tensor& indices) {
    const Rows p = softmax_of(rows_of(logits));
    std::vector<double> busy(p[0].size()), mean(p[0].size());
    for (const std::int64_t e : indices.to_vector<std::int64_t>()) busy[static_cast<std::size_t>(e)] += 1;
    double loss = 0;
    const auto tokens = static_cast<double>(p.size());
    for (std::size_t e = 0; e < busy.size(); ++e) {
        for (const auto& row : p) mean[e] += row[e] / tokens;
        loss += busy[e] / tokens * mean[e] * static_cast<double>(busy.size());
    }
    return from_doubles({loss}, {});
}

const RegisterCases routing_cases{[](Cases& out) {
    for (const std::int64_t n : odd_sizes) add_route(out, text_of("plain/", n), {n, 33}, {.k = 3});
    add_route(out, "normalised", {9, 8}, {.k = 2, .normalise = true});
    add_route(out, "scaled", {9, 8}, {.k = 2, .normalise = true, .scaling = 2.5});
    add_route(out, "groups", {9, 24}, {.k = 3, .scaling = 1.5, .groups = 6, .top_groups = 2});
    add_route(out, "every_expert", {9, 4}, {.k = 4});
    for (const std::int64_t n : odd_sizes)
        out.add(
            {.name = text_of("load_balancing_loss/", n),
             .inputs = {{.shape = {n, 6}, .low = -2, .high = 2},
                        {.shape = {}, .differentiable = false, .dtype = DType::I64, .values = some_indices(n, 2, 6)}},
             .op = [](const Tensors& in) { return Tensors{ops::load_balancing_loss(in[0], in[1])}; },
             .reference = [](const Tensors& in) { return Tensors{plain_balance(in[0], in[1])}; },
             .cuda = true});
}};

}  // namespace
}  // namespace tessera::testing
