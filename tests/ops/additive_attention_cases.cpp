#include "tessera/ops/additive_attention.h"

#include <cmath>

#include "support/op_case.h"

namespace tessera::testing {
namespace {

// The plain definition: scores, a softmax over the first keys, a weighted mean.
Tensors reference(const Tensors& in, const std::vector<std::int64_t>& lengths) {
    const std::int64_t batch = in[0].size(0), queries = in[0].size(1), keys = in[1].size(1), width = in[0].size(2);
    const std::int64_t values = in[3].size(2);
    const auto q = in[0].to_vector<double>(), k = in[1].to_vector<double>(), w = in[2].to_vector<double>(),
               v = in[3].to_vector<double>();
    std::vector<double> output(static_cast<std::size_t>(batch * queries * values));
    std::vector<double> weights(static_cast<std::size_t>(batch * queries * keys));
    for (std::int64_t row = 0; row < batch * queries; ++row) {
        const std::int64_t b = row / queries;
        const std::int64_t reach = lengths.empty() ? keys : lengths[static_cast<std::size_t>(b)];
        double sum = 0;
        double* at = weights.data() + row * keys;
        for (std::int64_t j = 0; j < reach; ++j) {
            double score = 0;
            for (std::int64_t a = 0; a < width; ++a)
                score += w.at(static_cast<std::size_t>(a)) *
                         std::tanh(q.at(static_cast<std::size_t>(row * width + a)) +
                                   k.at(static_cast<std::size_t>((b * keys + j) * width + a)));
            sum += at[j] = std::exp(score);
        }
        for (std::int64_t j = 0; j < reach; ++j) {
            at[j] /= sum;
            for (std::int64_t i = 0; i < values; ++i)
                output[static_cast<std::size_t>(row * values + i)] +=
                    at[j] * v[static_cast<std::size_t>((b * keys + j) * values + i)];
        }
    }
    return {from_doubles(output, {batch, queries, values}), from_doubles(weights, {batch, queries, keys})};
}

struct AdditiveAttentionSizes {
    std::int64_t batch, queries, keys, width, values;
};

void add_case(Cases& out, const AdditiveAttentionSizes& sizes, const std::vector<std::int64_t>& lengths = {}) {
    out.add({.name = text_of("additive_attention/", sizes.batch, "x", sizes.queries, "x", sizes.keys, "x", sizes.width,
                             lengths.empty() ? "" : "/lengths"),
             .inputs = {{.shape = {sizes.batch, sizes.queries, sizes.width}},
                        {.shape = {sizes.batch, sizes.keys, sizes.width}},
                        {.shape = {sizes.width}},
                        {.shape = {sizes.batch, sizes.keys, sizes.values}}},
             .op =
                 [=](const Tensors& in) {
                     Tensor reach;
                     if (!lengths.empty()) reach = Tensor::from(lengths, {sizes.batch}).to(in[0].device());
                     const auto result = ops::additive_attention(in[0], in[1], in[2], in[3], reach);
                     return Tensors{result.output, result.weights};
                 },
             .reference = [=](const Tensors& in) { return reference(in, lengths); },
             .cuda = true});
}

const RegisterCases additive_attention_cases{[](Cases& out) {
    for (const std::int64_t n : odd_sizes) {
        add_case(out, {.batch = 2, .queries = 3, .keys = 5, .width = n, .values = 4});
        add_case(out, {.batch = 2, .queries = 3, .keys = n, .width = 7, .values = 4});
    }
    add_case(out, {.batch = 4, .queries = 3, .keys = 9, .width = 33, .values = 5}, {9, 0, 1, 4});
    add_case(out, {.batch = 3, .queries = 31, .keys = 40, .width = 160, .values = 64}, {40, 13, 27});
}};

}  // namespace
}  // namespace tessera::testing
