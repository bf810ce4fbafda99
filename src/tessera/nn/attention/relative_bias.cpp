#include "tessera/nn/attention/relative_bias.h"

#include <algorithm>
#include <cmath>

#include "tessera/ops/views.h"

namespace tessera::nn {

RelativeBias::RelativeBias(const RelativeBiasSettings& settings)
    : table(settings.buckets, settings.heads), settings_(settings) {
    check(settings.buckets >= (settings.bidirectional ? 4 : 2), "relative bias: ", settings.buckets,
          " buckets are too few");
    check(settings.longest_distance > settings.buckets / 2, "relative bias: a longest distance of ",
          settings.longest_distance, " leaves nothing to ", settings.buckets, " buckets");
}

std::int64_t RelativeBias::bucket(std::int64_t distance) const {
    const std::int64_t own = settings_.bidirectional ? settings_.buckets / 2 : settings_.buckets;
    const std::int64_t first = settings_.bidirectional && distance > 0 ? own : 0;
    const std::int64_t length = settings_.bidirectional ? std::abs(distance) : std::max<std::int64_t>(0, -distance);
    const std::int64_t exact = own / 2;
    if (length < exact) return first + length;
    // In float, as the reference: where a bucket begins depends on the rounding.
    const float share =
        std::log(static_cast<float>(length) / static_cast<float>(exact)) /
        static_cast<float>(std::log(static_cast<double>(settings_.longest_distance) / static_cast<double>(exact)));
    const auto further = static_cast<std::int64_t>(share * static_cast<float>(own - exact));
    return first + std::min(exact + further, own - 1);
}

Tensor RelativeBias::forward(std::int64_t queries, std::int64_t keys) const {
    check(0 < queries && queries <= keys, "relative bias: ", queries, " queries among ", keys, " keys");
    const Tensor ids = Tensor::empty({queries, keys}, DType::I64);
    std::int64_t* next = ids.data<std::int64_t>();
    for (std::int64_t query = keys - queries; query < keys; ++query)
        for (std::int64_t key = 0; key < keys; ++key) {
            // One further down and one further right, the distance is the same.
            const bool is_known = query > keys - queries && key > 0;
            *next = is_known ? *(next - keys - 1) : bucket(key - query);
            ++next;
        }
    const Tensor by_pair = table.forward(ids.to(table.weight.device()));
    return ops::reshape(ops::permute(by_pair, {2, 0, 1}), {1, settings_.heads, queries, keys});
}

}  // namespace tessera::nn
