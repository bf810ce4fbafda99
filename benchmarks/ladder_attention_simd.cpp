#include <algorithm>
#include <cmath>
#include <limits>

#include "benchmarks/ladder.h"
#include "tessera/core/parallel.h"
#include "tessera/tensor/tensor.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "benchmarks/ladder_attention_simd.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/contrib/math/math-inl.h>

#include "benchmarks/ladder_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::benchmarks::HWY_NAMESPACE {

constexpr std::int64_t block_keys = 128;
constexpr std::int64_t block_queries = tile_rows * 4;

// The keys and values of one head, packed once for all of its queries.
struct PackedHead {
    Tensor keys, values;  // strips of keyᵀ (width × length); for each block of keys, strips of value (keys × width)
    std::int64_t value_strips;

    PackedHead(const HeadAttention& h, std::int64_t head) : value_strips(strips(h.width, tile_columns)) {
        const std::int64_t blocks = strips(h.length, block_keys), start = head * h.length * h.width;
        keys = Tensor::empty({blocks * block_keys, h.width});
        values = Tensor::empty({blocks * block_keys, value_strips * tile_columns});
        auto* packed = keys.data<float>();
        for (std::int64_t key = 0; key < blocks * block_keys; key += tile_columns)
            for (std::int64_t d = 0; d < h.width; ++d)
                for (std::int64_t j = key; j < key + tile_columns; ++j)
                    *packed++ = j < h.length ? h.key[start + j * h.width + d] : 0;
        for (std::int64_t key = 0; key < h.length; key += block_keys)
            for (std::int64_t strip = 0; strip < value_strips; ++strip)
                pack_columns(h.value + start + key * h.width + strip * tile_columns, h.width,
                             std::min(block_keys, h.length - key), h.width - strip * tile_columns,
                             value_strip(key, strip));
    }
    float* value_strip(std::int64_t key, std::int64_t strip) const {
        return values.data<float>() + (key * value_strips + strip * block_keys) * tile_columns;
    }
};

// Turns a query's scores with the keys [0, seen) of a block into weights relative to e^maximum, zeros past `seen`.
// Returns what the sums gathered so far shrink by.
inline float to_weights(float* scores, std::int64_t seen, float scale, float& maximum, float& sum) {
    const Tag d;
    const float before = maximum;
    for (std::int64_t j = seen; j < block_keys; ++j) scores[j] = -std::numeric_limits<float>::infinity();
    auto largest = hn::Set(d, -std::numeric_limits<float>::infinity());
    for (std::int64_t j = 0; j < block_keys; j += lanes) largest = hn::Max(largest, hn::Load(d, scores + j));
    maximum = std::max(before, scale * hn::GetLane(hn::MaxOfLanes(d, largest)));
    auto total = hn::Zero(d);
    for (std::int64_t j = 0; j < block_keys; j += lanes) {
        const auto score = hn::MulSub(hn::Load(d, scores + j), hn::Set(d, scale), hn::Set(d, maximum));
        const auto weight = hn::Exp(d, hn::Max(score, hn::Set(d, -200.0f)));
        hn::Store(weight, d, scores + j);
        total = hn::Add(total, weight);
    }
    const float shrink = std::exp(before - maximum);
    sum = sum * shrink + hn::GetLane(hn::SumOfLanes(d, total));
    return shrink;
}

// A block of queries through all blocks of keys that it sees.
void query_block(const HeadAttention& h, const PackedHead& packed, std::int64_t head, std::int64_t first) {
    const std::int64_t rows = std::min(block_queries, h.length - first), start = head * h.length * h.width;
    const float scale = 1 / std::sqrt(static_cast<float>(h.width));
    const Tensor queries = Tensor::empty({block_queries, h.width}),
                 score_block = Tensor::empty({block_queries, block_keys}),
                 weight_strip = Tensor::empty({tile_rows, block_keys});
    auto *packed_queries = queries.data<float>(), *scores = score_block.data<float>();
    float* out = h.out + start + first * h.width;
    float maximum[block_queries], sum[block_queries] = {};
    std::fill_n(maximum, block_queries, -std::numeric_limits<float>::infinity());
    std::fill_n(out, rows * h.width, 0.0f);
    for (std::int64_t row = 0; row < rows; row += tile_rows)
        pack_rows(h.query + start + (first + row) * h.width, h.width, rows - row, h.width,
                  packed_queries + row * h.width);
    for (std::int64_t key = 0; key < first + rows; key += block_keys) {
        const std::int64_t seen_keys = std::min(block_keys, h.length - key);
        std::fill_n(scores, block_queries * block_keys, 0.0f);
        for (std::int64_t row = 0; row < rows; row += tile_rows) {
            for (std::int64_t j = 0; j < seen_keys; j += tile_columns)
                add_tile(packed_queries + row * h.width, packed.keys.data<float>() + (key + j) * h.width, h.width,
                         scores + row * block_keys + j, block_keys, tile_rows, tile_columns);
            const std::int64_t strip_rows = std::min<std::int64_t>(tile_rows, rows - row);
            for (std::int64_t i = row; i < row + strip_rows; ++i) {
                const std::int64_t seen = std::clamp<std::int64_t>(first + i + 1 - key, 0, seen_keys);
                if (seen == 0) {
                    std::fill_n(scores + i * block_keys, block_keys, 0.0f);
                    continue;
                }
                const float shrink = to_weights(scores + i * block_keys, seen, scale, maximum[i], sum[i]);
                for (std::int64_t d = 0; d < h.width; ++d) out[i * h.width + d] *= shrink;
            }
            auto* weights = weight_strip.data<float>();
            pack_rows(scores + row * block_keys, block_keys, strip_rows, seen_keys, weights);
            for (std::int64_t strip = 0; strip < packed.value_strips; ++strip)
                add_tile(weights, packed.value_strip(key, strip), seen_keys, out + row * h.width + strip * tile_columns,
                         h.width, strip_rows, h.width - strip * tile_columns);
        }
    }
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t d = 0; d < h.width; ++d) out[i * h.width + d] /= sum[i];
}

// `grain`: how many blocks of queries one thread takes at least.
void blocks(const HeadAttention& h, std::int64_t grain) {
    for (std::int64_t head = 0; head < h.heads; ++head) {
        const PackedHead packed(h, head);
        const std::int64_t count = strips(h.length, block_queries);
        // Later queries see more keys: an early and a late block make a pair of equal work.
        parallel_for((count + 1) / 2, grain, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t pair = begin; pair < end; ++pair) {
                query_block(h, packed, head, pair * block_queries);
                if (count - 1 - pair != pair) query_block(h, packed, head, (count - 1 - pair) * block_queries);
            }
        });
    }
}

}  // namespace tessera::benchmarks::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::benchmarks {

HWY_EXPORT(blocks);

void attention_simd(const HeadAttention& h) { HWY_DYNAMIC_DISPATCH(blocks)(h, h.length); }
void attention_threads(const HeadAttention& h) { HWY_DYNAMIC_DISPATCH(blocks)(h, 1); }

}  // namespace tessera::benchmarks
#endif
