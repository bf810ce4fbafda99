#include "tessera/ops/global_local_attention.h"

#include <cmath>
#include <functional>

#include "support/op_case.h"

namespace tessera::testing {
namespace {

struct Pattern {
    std::int64_t rows = 2, time = 33, heads = 2, width = 8, window = 6;
    std::vector<std::vector<std::int64_t>> global_tokens = {};  // of each row
    std::vector<std::int64_t> lengths = {};

    bool is_global(std::int64_t row, std::int64_t token) const {
        if (global_tokens.empty()) return false;
        for (const std::int64_t each : global_tokens[static_cast<std::size_t>(row)])
            if (each == token) return true;
        return false;
    }
    std::int64_t length(std::int64_t row) const {
        return lengths.empty() ? time : lengths[static_cast<std::size_t>(row)];
    }
};

// The plain definition: one token at a time, every score.
Tensors plain_longformer(const Pattern& p, const Tensors& in) {
    std::vector<std::vector<double>> x;
    for (const Tensor& each : in) x.push_back(each.to_vector<double>());
    const auto at = [&](std::int64_t b, std::int64_t t, std::int64_t h, std::int64_t d) {
        return static_cast<std::size_t>(((b * p.time + t) * p.heads + h) * p.width + d);
    };
    std::vector<double> out(x[0].size(), 0.0);
    for (std::int64_t b = 0; b < p.rows; ++b)
        for (std::int64_t i = 0; i < p.length(b); ++i)
            for (std::int64_t h = 0; h < p.heads; ++h) {
                const std::size_t projection = p.is_global(b, i) ? 3 : 0;
                std::vector<double> weights(static_cast<std::size_t>(p.time), 0.0);
                double sum = 0;
                for (std::int64_t j = 0; j < p.length(b); ++j) {
                    if (!p.is_global(b, i) && !p.is_global(b, j) && std::abs(i - j) > p.window / 2) continue;
                    double score = 0;
                    for (std::int64_t d = 0; d < p.width; ++d)
                        score += x[projection][at(b, i, h, d)] * x[projection + 1][at(b, j, h, d)];
                    sum += weights[static_cast<std::size_t>(j)] = std::exp(score / std::sqrt(p.width));
                }
                for (std::int64_t j = 0; j < p.time; ++j)
                    for (std::int64_t d = 0; d < p.width; ++d)
                        out[at(b, i, h, d)] +=
                            weights[static_cast<std::size_t>(j)] / sum * x[projection + 2][at(b, j, h, d)];
            }
    return {from_doubles(out, in[0].shape())};
}

ops::GlobalLocalOptions options_of(const Pattern& p) {
    ops::GlobalLocalOptions options{.window = p.window};
    if (!p.lengths.empty()) options.lengths = Tensor::from(p.lengths, {p.rows});
    if (p.global_tokens.empty()) return options;
    options.global_tokens = Tensor::zeros({p.rows, p.time}, DType::Bool);
    for (std::int64_t b = 0; b < p.rows; ++b)
        for (const std::int64_t token : p.global_tokens[static_cast<std::size_t>(b)])
            options.global_tokens.data<bool>()[b * p.time + token] = true;
    return options;
}

void add_case(Cases& out, const std::string& name, const Pattern& pattern) {
    std::vector<Input> inputs;
    // Without global tokens the global projections have no part in it.
    for (int i = 0; i < 6; ++i)
        inputs.push_back({.shape = {pattern.rows, pattern.time, pattern.heads, pattern.width},
                          .differentiable = i < 3 || !pattern.global_tokens.empty()});
    out.add({.name = "global_local_attention/" + name,
             .inputs = inputs,
             .op =
                 [options = options_of(pattern)](const Tensors& in) {
                     return Tensors{ops::global_local_attention(in[0], in[1], in[2], in[3], in[4], in[5], options)};
                 },
             .reference = [pattern](const Tensors& in) { return plain_longformer(pattern, in); },
             .cuda = true});
}

const RegisterCases global_local_attention_cases{[](Cases& out) {
    add_case(out, "window_only", {});
    add_case(out, "one_token", {.time = 1, .global_tokens = {{0}, {0}}});
    for (const std::int64_t n : {31, 33, 127})
        add_case(out, text_of("global/", n), {.time = n, .global_tokens = {{0, 7, n - 1}, {3}}});
    add_case(out, "padding", {.time = 70, .window = 20, .global_tokens = {{0}, {0, 1, 40}}, .lengths = {70, 45}});
    add_case(out, "row_without_global", {.global_tokens = {{}, {5, 6}}});
    add_case(out, "long", {.rows = 1, .time = 300, .heads = 1, .window = 64, .global_tokens = {{0, 1, 150}}});
}};

}  // namespace
}  // namespace tessera::testing
