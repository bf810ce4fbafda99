#include "nn/attention/alibi.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tessera::nn {

Tensor alibi_slopes(std::int64_t heads) {
    const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
    std::vector<float> slopes;
    for (std::int64_t i = 0; i < power; ++i)
        slopes.push_back(static_cast<float>(std::exp2(-8.0 * static_cast<double>(i + 1) / static_cast<double>(power))));
    for (std::int64_t i = 0; static_cast<std::int64_t>(slopes.size()) < heads; ++i)
        slopes.push_back(
            static_cast<float>(std::exp2(-4.0 * static_cast<double>(2 * i + 1) / static_cast<double>(power))));
    return Tensor::from(slopes, {heads});
}

Tensor rounded_alibi_bias(const Tensor& slopes, double factor, std::int64_t first, std::int64_t count,
                          const Tensor& starts) {
    const std::vector<std::int64_t> rows =
        starts.defined() ? starts.to_vector<std::int64_t>() : std::vector<std::int64_t>{0};
    std::vector<float> biases;
    for (const std::int64_t start : rows)
        for (const float slope : slopes.to_vector<float>())
            for (std::int64_t key = first; key < first + count; ++key) {
                const auto position = static_cast<float>(std::max<std::int64_t>(0, key - start));
                // The reference multiplies in bf16, so that the position is rounded too.
                const float product = static_cast<float>(BFloat16(slope)) * static_cast<float>(BFloat16(position));
                biases.push_back(static_cast<float>(BFloat16(product)) * static_cast<float>(factor));
            }
    return Tensor::from(biases, {static_cast<std::int64_t>(rows.size()), slopes.size(0), 1, count});
}

}  // namespace tessera::nn
