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
          width_stride_(tile_stride<T>(sizes.width)),
          value_stride_(tile_stride<T>(sizes.value_width)),
          queries_(query_block * width_stride_),
          transposed_(sizes.width * ScoreTile<T>::stride),
          keys_(key_block * width_stride_),
          values_(key_block * value_stride_),
          out_(query_block * value_stride_) {}

    void run(const QueryBlock& block) {
        load_queries(block);
        std::fill_n(maximum_, query_block, static_cast<T>(no_score));
        std::fill_n(sum_, query_block, T(0));
        std::fill_n(out_.data(), query_block * value_stride_, T(0));
        for (std::int64_t first = block.any.begin; first < block.any.end; first += key_block) {
            const std::int64_t count = std::min(key_block, block.any.end - first);
            load_keys(block, first, count);
            tile_.compute(keys_.data(), width_stride_, first, count);
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
    void load_queries(const QueryBlock& block) {
        for (std::int64_t i = 0; i < query_block; ++i) {
            const auto at = static_cast<std::size_t>(i);
            T* to = queries_.data() + i * width_stride_;
            if (i < block.count)
                load_values(row_address(views_.query, block.row, block.query[at], block.head[at]), views_.query.dtype,
                            sizes_.width, width_stride_, tile_.query_factor(), to);
            else
                std::fill_n(to, width_stride_, T(0));
        }
        transpose_tile(queries_.data(), width_stride_, query_block, sizes_.width, transposed_.data(),
                       ScoreTile<T>::stride);
        tile_.start(block, transposed_.data());
    }

    void load_keys(const QueryBlock& block, std::int64_t first, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
            load_values(row_address(views_.key, block.row, first + i, block.key_head), views_.key.dtype, sizes_.width,
                        width_stride_, T(1), keys_.data() + i * width_stride_);
            load_values(row_address(views_.value, block.row, first + i, block.key_head), views_.value.dtype,
                        sizes_.value_width, value_stride_, T(1), values_.data() + i * value_stride_);
        }
    }

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
    std::int64_t width_stride_, value_stride_;
    Scratch<T> queries_, transposed_, keys_, values_, out_;
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
