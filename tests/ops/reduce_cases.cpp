#include "tessera/ops/reduce.h"

#include <limits>

#include "support/op_case.h"
#include "tessera/ops/views.h"

namespace tessera::testing {
namespace {

// The plain definition: every element goes to the position it reduces to.
Tensor plain_sum(const Tensor& x, const std::vector<int>& dims, bool keep, bool divide) {
    Shape kept = x.shape(), dropped;
    std::vector<bool> reduced(static_cast<std::size_t>(x.rank()), dims.empty());
    for (const int dim : dims) reduced[static_cast<std::size_t>(x.shape().wrap(dim))] = true;
    for (int i = 0; i < x.rank(); ++i) {
        if (reduced[static_cast<std::size_t>(i)])
            kept[i] = 1;
        else
            dropped.push_back(x.shape()[i]);
    }
    const auto values = x.to_vector<double>();
    std::vector<double> sums(static_cast<std::size_t>(kept.elements()), 0.0);
    for (std::size_t n = 0; n < values.size(); ++n) {
        std::int64_t rest = static_cast<std::int64_t>(n), position = 0, scale = 1;
        for (int i = x.rank() - 1; i >= 0; --i) {
            if (kept[i] != 1) position += rest % x.shape()[i] * scale;
            scale *= kept[i];
            rest /= x.shape()[i];
        }
        sums[static_cast<std::size_t>(position)] += values[n];
    }
    if (divide)
        for (double& sum : sums) sum /= static_cast<double>(values.size()) / static_cast<double>(sums.size());
    return from_doubles(sums, keep ? kept : dropped);
}

void add_sum(Cases& out, const std::string& label, const Shape& shape, const std::vector<int>& dims,
             bool keep = false) {
    // Positive values: a sum near zero would have no relative accuracy to speak of.
    out.add({.name = "sum/" + label,
             .inputs = {{.shape = shape, .low = 0, .high = 1}},
             .op = [=](const Tensors& in) { return Tensors{ops::sum(in[0], dims, keep)}; },
             .reference = [=](const Tensors& in) { return Tensors{plain_sum(in[0], dims, keep, false)}; },
             .cuda = true});
    out.add({.name = "mean/" + label,
             .inputs = {{.shape = shape, .low = 0, .high = 1}},
             .op = [=](const Tensors& in) { return Tensors{ops::mean(in[0], dims, keep)}; },
             .reference = [=](const Tensors& in) { return Tensors{plain_sum(in[0], dims, keep, true)}; },
             .cuda = true});
}

// A selection sort per line: the largest left, the first of several.
Tensors plain_top_k(const Tensor& x, std::int64_t k, int dim) {
    const Tensor lines = ops::transpose(x, dim, -1);
    const std::int64_t length = lines.size(-1), count = lines.elements() / length;
    const auto values = lines.to_vector<double>();
    std::vector<double> largest;
    std::vector<std::int64_t> indices;
    for (std::int64_t line = 0; line < count; ++line) {
        std::vector<bool> taken(static_cast<std::size_t>(length), false);
        for (std::int64_t i = 0; i < k; ++i) {
            std::int64_t best = -1;
            for (std::int64_t j = 0; j < length; ++j) {
                const auto at = [&](std::int64_t place) {
                    return values[static_cast<std::size_t>(line * length + place)];
                };
                if (!taken[static_cast<std::size_t>(j)] && (best < 0 || at(j) > at(best))) best = j;
            }
            taken[static_cast<std::size_t>(best)] = true;
            largest.push_back(values[static_cast<std::size_t>(line * length + best)]);
            indices.push_back(best);
        }
    }
    Shape shape = lines.shape();
    shape[shape.rank() - 1] = k;
    return {ops::transpose(from_doubles(largest, shape), dim, -1),
            ops::transpose(Tensor::from(indices, shape), dim, -1)};
}

Tensors both(const ops::TopK& top) { return {top.values, top.indices}; }

// No two values nearer than the step of the finite differences: the order never changes.
Tensor distinct_values(const Shape& shape) {
    std::vector<double> values;
    const std::int64_t n = shape.elements();
    for (std::int64_t i = 0; i < n; ++i)
        values.push_back(2 * static_cast<double>(i * 7919 % n) / static_cast<double>(n) - 1);
    return from_doubles(values, shape);
}

void add_order(Cases& out, const std::string& label, const Shape& shape, int dim, std::int64_t k) {
    const Input input{.shape = shape, .values = distinct_values(shape)};
    out.add({.name = "top_k/" + label,
             .inputs = {input},
             .op = [=](const Tensors& in) { return both(ops::top_k(in[0], k, dim)); },
             .reference = [=](const Tensors& in) { return plain_top_k(in[0], k, dim); },
             .cuda = true});
    out.add({.name = "max/" + label,
             .inputs = {input},
             .op = [=](const Tensors& in) { return Tensors{ops::max(in[0], dim, true)}; },
             .reference = [=](const Tensors& in) { return Tensors{plain_top_k(in[0], 1, dim)[0]}; },
             .cuda = true});
    out.add({.name = "argmax/" + label,
             .inputs = {input},
             .op = [=](const Tensors& in) { return Tensors{ops::argmax(in[0], dim, true)}; },
             .reference = [=](const Tensors& in) { return Tensors{plain_top_k(in[0], 1, dim)[1]}; },
             .gradient = false,
             .cuda = true});
}

const RegisterCases reduce_cases{[](Cases& out) {
    for (const std::int64_t n : odd_sizes) {
        add_sum(out, text_of("rows/", n), {3, n}, {-1});
        add_sum(out, text_of("columns/", n), {n, 3}, {0});
        add_sum(out, text_of("all/", n), {3, n}, {});
        add_order(out, text_of("rows/", n), {3, n}, -1, (n + 1) / 2);
    }
    add_sum(out, "middle_kept", {5, 7, 33}, {1}, true);
    add_sum(out, "outer_and_inner", {5, 7, 33}, {0, 2});
    add_sum(out, "around", {4, 3, 2, 5}, {0, 2});
    add_sum(out, "scalar", {}, {});
    add_sum(out, "large/all", {600, 601}, {});
    add_sum(out, "large/columns", {3001, 127}, {0});
    add_sum(out, "large/rows", {3, 131071}, {1});
    add_order(out, "columns", {33, 5}, 0, 4);
    add_order(out, "middle", {2, 31, 3}, 1, 31);
    add_order(out, "large", {64, 251}, -1, 8);
}};

}  // namespace
}  // namespace tessera::testing
