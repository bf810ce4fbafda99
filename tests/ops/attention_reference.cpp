#include "ops/attention_reference.h"

#include <cmath>

#include "support/op_case.h"
#include "tessera/core/random.h"
#include "tessera/ops/views.h"

namespace tessera::testing {

Tensor plain_attention(const Tensor& query, const Tensor& key, const Tensor& value, const PlainAttention& options) {
    const std::int64_t rows = query.size(0), queries = query.size(1), heads = query.size(2), width = query.size(3);
    const std::int64_t keys = key.size(1), key_heads = key.size(2), value_width = value.size(3);
    const auto q = query.to_vector<double>(), k = key.to_vector<double>(), v = value.to_vector<double>();
    std::vector<double> bias;
    if (options.bias.defined())
        bias = ops::expand(options.bias.detach(), {rows, heads, queries, keys}).to_vector<double>();
    const double scale = options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(width));
    std::vector<double> out(static_cast<std::size_t>(rows * queries * heads * value_width), 0.0);
    std::vector<double> weight(static_cast<std::size_t>(keys));
    for (std::int64_t b = 0; b < rows; ++b)
        for (std::int64_t h = 0; h < heads; ++h)
            for (std::int64_t i = 0; i < queries; ++i) {
                const std::int64_t kh = h / (heads / key_heads);
                const std::int64_t position =
                    i + (options.offsets.empty() ? keys - queries : options.offsets[static_cast<std::size_t>(b)]);
                double sum = 0;
                for (std::int64_t j = 0; j < keys; ++j) {
                    double score = 0;
                    for (std::int64_t d = 0; d < width; ++d)
                        score += q[static_cast<std::size_t>(((b * queries + i) * heads + h) * width + d)] *
                                 k[static_cast<std::size_t>(((b * keys + j) * key_heads + kh) * width + d)];
                    score *= scale;
                    if (options.soft_cap > 0) score = options.soft_cap * std::tanh(score / options.soft_cap);
                    const std::int64_t index = ((b * heads + h) * queries + i) * keys + j;
                    if (!bias.empty()) score += bias[static_cast<std::size_t>(index)];
                    if (!options.slopes.empty())
                        score += options.slopes[static_cast<std::size_t>(h)] * static_cast<double>(j - position);
                    weight[static_cast<std::size_t>(j)] = options.allowed(b, i, j) ? std::exp(score) : 0.0;
                    sum += weight[static_cast<std::size_t>(j)];
                    if (options.dropout > 0) {
                        const auto bits = random_bits(options.dropout_key, static_cast<std::uint64_t>(index));
                        const bool kept = bits >= options.dropout * 4294967296.0;
                        weight[static_cast<std::size_t>(j)] *= kept ? 1 / (1 - options.dropout) : 0.0;
                    }
                }
                if (sum == 0) continue;
                for (std::int64_t j = 0; j < keys; ++j)
                    for (std::int64_t d = 0; d < value_width; ++d)
                        out[static_cast<std::size_t>(((b * queries + i) * heads + h) * value_width + d)] +=
                            weight[static_cast<std::size_t>(j)] / sum *
                            v[static_cast<std::size_t>(((b * keys + j) * key_heads + kh) * value_width + d)];
            }
    return from_doubles(out, {rows, queries, heads, value_width});
}

}  // namespace tessera::testing
