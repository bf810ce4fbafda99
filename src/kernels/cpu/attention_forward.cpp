// Attention forward: each block of queries walks its keys once, keeping for every query the largest score so far, the
// sum of the weights relative to it, and the weighted sum of the values (online softmax: Milakov & Gimelshein 2018).
#include <cmath>

#include "kernels/attention.h"
#include "kernels/cpu/attention_few.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_forward.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "kernels/cpu/attention_scores.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
class ForwardBlock {
   public:
    ForwardBlock(const kernels::AttentionSettings& settings, const kernels::AttentionForward& views,
                 const AttentionSizes& sizes)
        : settings_(settings),
          views_(views),
          sizes_(sizes),
          tile_(settings, sizes),
          queries_(views.query, query_block),
          keys_(views.key, key_block),
          values_(views.value, key_block),
          transposed_(sizes.width * ScoreTile<T>::stride),
          value_stride_(values_.stride()),
          out_(query_block * value_stride_) {}

    void run(const QueryBlock& block) {
        queries_.load_queries(block, tile_.query_factor());
        transpose_tile(queries_.data(), queries_.stride(), query_block, sizes_.width, transposed_.data(),
                       ScoreTile<T>::stride);
        tile_.start(block, transposed_.data());
        std::fill_n(maximum_, query_block, static_cast<T>(no_score));
        std::fill_n(sum_, query_block, T(0));
        std::fill_n(out_.data(), query_block * value_stride_, T(0));
        for (std::int64_t first = block.any.begin; first < block.any.end; first += key_block) {
            const std::int64_t count = std::min(key_block, block.any.end - first);
            keys_.load_keys(block, first, count, block.any.end);
            values_.load_keys(block, first, count, block.any.end);
            tile_.compute(keys_.data(), keys_.stride(), first, count);
            take_weights();
            scale_out(block.count);
            if (settings_.dropout > 0) tile_.drop(tile_.scores());
            multiply<Left::transposed>(Product<T>{tile_.scores(), ScoreTile<T>::stride, values_.data(), value_stride_,
                                                  out_.data(), value_stride_, block.count, sizes_.value_width, count,
                                                  true});
        }
        store(block);
    }

   private:
    // Turns the tile's scores into weights relative to the new maximum, and remembers how the old ones shrink.
    void take_weights() {
        const hn::ScalableTag<T> d;
        constexpr std::int64_t stride = ScoreTile<T>::stride;
        for (std::int64_t column = 0; column < tile_.columns(); column += lane_count<T>()) {
            T* scores = tile_.scores() + column;
            const auto old_maximum = hn::Load(d, maximum_ + column);
            auto maximum = old_maximum;
            for (std::int64_t key = 0; key < tile_.count(); ++key)
                maximum = hn::Max(maximum, hn::Load(d, scores + key * stride));
            auto sum = hn::Zero(d);
            for (std::int64_t key = 0; key < tile_.count(); ++key) {
                const auto weight = exp2_of_negative(d, hn::Sub(hn::Load(d, scores + key * stride), maximum));
                hn::Store(weight, d, scores + key * stride);
                sum = hn::Add(sum, weight);
            }
            const auto shrink = exp2_of_negative(d, hn::Sub(old_maximum, maximum));
            hn::Store(shrink, d, shrink_ + column);
            hn::Store(maximum, d, maximum_ + column);
            hn::Store(hn::MulAdd(hn::Load(d, sum_ + column), shrink, sum), d, sum_ + column);
        }
    }

    void scale_out(std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
            if (shrink_[i] == T(1)) continue;
            T* out = out_.data() + i * value_stride_;
            for (std::int64_t j = 0; j < sizes_.value_width; ++j) out[j] *= shrink_[i];
        }
    }

    void store(const QueryBlock& block) {
        for (std::int64_t i = 0; i < block.count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const bool seen_none = sum_[i] == T(0);
            views_.log_sum.as<T>()[block.log_sum_index(sizes_, i)] =
                seen_none ? -std::numeric_limits<T>::infinity()
                          : static_cast<T>((maximum_[i] + std::log2(sum_[i])) * log_of_2);
            T* out = out_.data() + i * value_stride_;
            store_values(out, seen_none ? T(0) : 1 / sum_[i], sizes_.value_width, out,
                         row_address(views_.out, block.row, block.query[at], block.head[at]), views_.out.dtype);
        }
    }

    const kernels::AttentionSettings& settings_;
    const kernels::AttentionForward& views_;
    const AttentionSizes& sizes_;
    ScoreTile<T> tile_;
    RowTile<T> queries_, keys_, values_;
    Scratch<T> transposed_;
    std::int64_t value_stride_;
    Scratch<T> out_;
    alignas(64) T maximum_[query_block];
    alignas(64) T sum_[query_block];
    alignas(64) T shrink_[query_block];
};

template <class T>
void forward(const kernels::AttentionSettings& settings, const kernels::AttentionForward& views) {
    const AttentionSizes sizes(views.query, views.key, views.value);
    const std::int64_t blocks = sizes.query_blocks(), tasks = sizes.rows * sizes.key_heads * blocks;
    share_tasks(tasks, sizes.worth_sharing(), [&](auto next) {
        ForwardBlock<T> forward_block(settings, views, sizes);
        for (std::int64_t task = next(); task >= 0; task = next()) {
            // The last block first: under a causal mask it has the most keys, and short tasks even out the end.
            const std::int64_t first = (blocks - 1 - task % blocks) * query_block;
            const std::int64_t key_head = task / blocks;
            forward_block.run(QueryBlock(settings.mask, sizes, key_head / sizes.key_heads, key_head % sizes.key_heads,
                                         first, std::min(query_block, sizes.query_rows() - first)));
        }
    });
}

void attention_forward_f32(const kernels::AttentionSettings& settings, const kernels::AttentionForward& views) {
    forward<float>(settings, views);
}
void attention_forward_f64(const kernels::AttentionSettings& settings, const kernels::AttentionForward& views) {
    forward<double>(settings, views);
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
namespace {

HWY_EXPORT(attention_forward_f32);
HWY_EXPORT(attention_forward_f64);

void attention_on_cpu(const kernels::AttentionSettings& settings, const kernels::AttentionForward& views) {
    if (views.log_sum.elements() == 0) return;
    if (AttentionSizes(views.query, views.key, views.value).query_rows() <= few_rows && settings.dropout == 0)
        return attention_of_few(settings, views);
    if (views.query.dtype == DType::F64)
        HWY_DYNAMIC_DISPATCH(attention_forward_f64)(settings, views);
    else
        HWY_DYNAMIC_DISPATCH(attention_forward_f32)(settings, views);
}

const Fill fill_attention{kernels::attention, DeviceKind::CPU, attention_on_cpu};

}  // namespace
}  // namespace tessera
#endif
