#include "tessera/nn/attention/alibi.h"

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

Tensor rounded_alibi_biases(const Tensor& slopes, double factor, const AlibiKeys& keys) {
    const std::int64_t heads = slopes.size(0);
    const Tensor starts = keys.starts.defined() ? keys.starts.to(cpu) : Tensor();
    const Tensor biases = Tensor::empty({keys.rows, keys.count, heads});
    float* next = biases.data<float>();
    for (std::int64_t row = 0; row < keys.rows; ++row) {
        const std::int64_t start = starts.defined() ? starts.data<std::int64_t>()[row] : 0;
        for (std::int64_t key = keys.first; key < keys.first + keys.count; ++key) {
            const auto position = static_cast<float>(std::max<std::int64_t>(0, key - start));
            for (std::int64_t head = 0; head < heads; ++head) {
                // The reference multiplies in bf16, so that the position is rounded too.
                const float slope = static_cast<float>(BFloat16(slopes.data<float>()[head]));
                const float product = slope * static_cast<float>(BFloat16(position));
                *next++ = static_cast<float>(BFloat16(product)) * static_cast<float>(factor);
            }
        }
    }
    return biases;
}

}  // namespace tessera::nn
