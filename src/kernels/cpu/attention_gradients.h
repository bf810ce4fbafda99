// Weights and score gradients of a block of queries, recomputed from the saved log-sum; shared by the backward kernels
// and compiled once per vector target.
//
//     weight = 2^(score − log_sum)
//     d score = weight · (keep · out_gradient · value − Σ out_gradient · out)
#if defined(TESSERA_ATTENTION_GRADIENTS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_ATTENTION_GRADIENTS_H
#undef TESSERA_ATTENTION_GRADIENTS_H
#else
#define TESSERA_ATTENTION_GRADIENTS_H
#endif

#include <hwy/highway.h>

#include "kernels/cpu/attention_scores.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
class GradientTile {
   public:
    static constexpr std::int64_t stride = ScoreTile<T>::stride;

    GradientTile(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views,
                 const AttentionSizes& sizes)
        : settings_(settings),
          views_(views),
          sizes_(sizes),
          tile_(settings, sizes),
          width_stride_(tile_stride<T>(sizes.width)),
          value_stride_(tile_stride<T>(sizes.value_width)),
          queries_(query_block * width_stride_),
          queries_transposed_(sizes.width * stride),
          out_gradient_(query_block * value_stride_),
          out_gradient_transposed_(sizes.value_width * stride),
          keys_(key_block * width_stride_),
          values_(key_block * value_stride_),
          gradient_(key_block * stride) {}

    void start(const QueryBlock& block) {
        block_ = &block;
        std::fill_n(log_sum_, query_block, static_cast<T>(-no_score));  // weights of 0
        std::fill_n(delta_, query_block, T(0));
        for (std::int64_t i = 0; i < query_block; ++i) load_query(i);
        transpose_tile(queries_.data(), width_stride_, query_block, sizes_.width, queries_transposed_.data(), stride);
        transpose_tile(out_gradient_.data(), value_stride_, query_block, sizes_.value_width,
                       out_gradient_transposed_.data(), stride);
        tile_.start(block, queries_transposed_.data());
    }

    // Weights and score gradients for the keys [first, first + count).
    void compute(std::int64_t first, std::int64_t count) {
        load_keys(first, count);
        tile_.compute(keys_.data(), width_stride_, first, count);
        multiply<Left::as_is>(Product<T>{values_.data(), value_stride_, out_gradient_transposed_.data(), stride,
                                         gradient_.data(), stride, count, block_->count, sizes_.value_width, false});
        if (settings_.dropout > 0) tile_.drop(gradient_.data());
        const hn::ScalableTag<T> d;
        for (std::int64_t key = 0; key < count; ++key) {
            for (std::int64_t column = 0; column < tile_.columns(); column += lane_count<T>()) {
                T* score = tile_.scores() + key * stride + column;
                T* gradient = gradient_.data() + key * stride + column;
                const auto log_sum = hn::Load(d, log_sum_ + column), delta = hn::Load(d, delta_ + column);
                const auto weight = exp2_of_negative(d, hn::Sub(hn::Load(d, score), log_sum));
                hn::Store(weight, d, score);
                hn::Store(hn::Mul(weight, hn::Sub(hn::Load(d, gradient), delta)), d, gradient);
            }
        }
        if (settings_.dropout > 0) tile_.drop(tile_.scores());
    }

    // Gradients of the scores as they come out of query · key, before the soft cap; call once after compute.
    void undo_cap() {
        const hn::ScalableTag<T> d;
        if (!tile_.cap_slope()) return;
        for (std::int64_t key = 0; key < tile_.count(); ++key)
            for (std::int64_t column = 0; column < tile_.columns(); column += lane_count<T>()) {
                T* gradient = gradient_.data() + key * stride + column;
                const auto slope = hn::Load(d, tile_.cap_slope() + key * stride + column);
                hn::Store(hn::Mul(hn::Load(d, gradient), slope), d, gradient);
            }
    }

    // Tiles with a row per key and a column per query.
    const T* weights() const { return tile_.scores(); }  // after dropout
    const T* score_gradients() const { return gradient_.data(); }
    // Tiles with a row per query or key.
    const T* queries() const { return queries_.data(); }  // times query_factor
    const T* out_gradient() const { return out_gradient_.data(); }
    const T* keys() const { return keys_.data(); }
    std::int64_t width_stride() const { return width_stride_; }
    std::int64_t value_stride() const { return value_stride_; }
    T key_gradient_factor() const { return tile_.key_gradient_factor(); }

   private:
    void load_query(std::int64_t i) {
        const auto at = static_cast<std::size_t>(i);
        T* query = queries_.data() + i * width_stride_;
        T* gradient = out_gradient_.data() + i * value_stride_;
        if (i >= block_->count) {
            std::fill_n(query, width_stride_, T(0));
            std::fill_n(gradient, value_stride_, T(0));
            return;
        }
        const auto address = [&](const View& view) {
            return row_address(view, block_->row, block_->query[at], block_->head[at]);
        };
        load_values(address(views_.query), views_.query.dtype, sizes_.width, width_stride_, tile_.query_factor(),
                    query);
        load_values(address(views_.out_gradient), views_.out_gradient.dtype, sizes_.value_width, value_stride_, T(1),
                    gradient);
        T* out = values_.data();  // free until the first keys come
        load_values(address(views_.out), views_.out.dtype, sizes_.value_width, value_stride_, T(1), out);
        for (std::int64_t j = 0; j < sizes_.value_width; ++j) delta_[i] += out[j] * gradient[j];
        const T log_sum = views_.log_sum.as<const T>()[block_->log_sum_index(sizes_, i)];
        if (log_sum != -std::numeric_limits<T>::infinity()) log_sum_[i] = log_sum * static_cast<T>(log2_e);
    }

    void load_keys(std::int64_t first, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
            load_values(row_address(views_.key, block_->row, first + i, block_->key_head), views_.key.dtype,
                        sizes_.width, width_stride_, T(1), keys_.data() + i * width_stride_);
            load_values(row_address(views_.value, block_->row, first + i, block_->key_head), views_.value.dtype,
                        sizes_.value_width, value_stride_, T(1), values_.data() + i * value_stride_);
        }
    }

    const kernels::AttentionSettings& settings_;
    const kernels::AttentionBackward& views_;
    const AttentionSizes& sizes_;
    ScoreTile<T> tile_;
    std::int64_t width_stride_, value_stride_;
    Scratch<T> queries_, queries_transposed_, out_gradient_, out_gradient_transposed_, keys_, values_, gradient_;
    const QueryBlock* block_ = nullptr;
    alignas(64) T log_sum_[query_block];
    alignas(64) T delta_[query_block];
};

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
