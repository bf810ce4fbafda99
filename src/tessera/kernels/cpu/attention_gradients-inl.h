// Weights and score gradients of a block of queries, recomputed from the saved log-sum; shared by the backward kernels
// and compiled once per vector target.
//
//     weight = 2^(score − log_sum)
//     d score = weight · (keep · out_gradient · value − Σ out_gradient · out)
#if defined(TESSERA_ATTENTION_GRADIENTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_ATTENTION_GRADIENTS_INL_H
#undef TESSERA_ATTENTION_GRADIENTS_INL_H
#else
#define TESSERA_ATTENTION_GRADIENTS_INL_H
#endif

#include <hwy/highway.h>

#include "tessera/kernels/cpu/attention_scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The queries of a block with what backward needs of their outputs.
template <class T, class Word = T>
class GradientQueries {
   public:
    GradientQueries(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views,
                    const AttentionSizes& sizes)
        : views_(views),
          sizes_(sizes),
          columns_(settings, views.query, QueryUse::Gradients),
          out_gradient_(views.out_gradient, QueryUse::Gradients) {}

    void start(const QueryBlock& block) {
        columns_.start(block);
        out_gradient_.load(block, T(1));
        std::fill_n(log_sum_, query_block, static_cast<T>(-no_score));  // makes the weights 0
        std::fill_n(delta_, query_block, T(0));
        for (std::int64_t i = 0; i < block.count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const auto row_of = [&](const View& view) {
                return row_address(view, block.row, block.query[at], block.head[at]);
            };
            delta_[i] = dot(row_of(views_.out), row_of(views_.out_gradient));
            const T log_sum = views_.log_sum.as<const T>()[block.log_sum_index(sizes_, i)];
            if (log_sum != -std::numeric_limits<T>::infinity()) log_sum_[i] = log_sum * static_cast<T>(log2_e);
        }
    }

    const QueryBlock& block() const { return columns_.block(); }
    const QueryColumns<T, Word>& columns() const { return columns_; }
    const QueryRows<T, Word>& queries() const { return columns_.rows(); }  // times QueryColumns::factor, unless pairs
    const QueryRows<T, Word>& out_gradient() const { return out_gradient_; }
    const T* log_sum() const { return log_sum_; }  // in units of log 2
    const T* delta() const { return delta_; }      // Σ out_gradient · out

   private:
    // Of rows of the output and its gradient, which have one dtype.
    T dot(const std::byte* out, const std::byte* gradient) const {
        const hn::ScalableTag<T> d;
        T sum = 0;
        with_type<T>(out, views_.out.dtype, [&]<class In>(const In* a) {
            const In* b = reinterpret_cast<const In*>(gradient);
            auto sums = hn::Zero(d);
            std::int64_t i = 0;
            for (; i + lane_count<T>() <= sizes_.value_width; i += lane_count<T>())
                sums = hn::MulAdd(load_vector(d, a + i), load_vector(d, b + i), sums);
            sum = hn::GetLane(hn::SumOfLanes(d, sums));
            for (; i < sizes_.value_width; ++i) sum += convert<In, T>(a[i]) * convert<In, T>(b[i]);
        });
        return sum;
    }

    const kernels::AttentionBackward& views_;
    const AttentionSizes& sizes_;
    QueryColumns<T, Word> columns_;
    QueryRows<T, Word> out_gradient_;
    alignas(64) T log_sum_[query_block];
    alignas(64) T delta_[query_block];
};

// Weights and score gradients of one query block against a run of keys: a row per key, a column per query.
template <class T, class Word = T>
class GradientTile {
   public:
    static constexpr std::int64_t stride = ScoreTile<T, Word>::stride;

    GradientTile(const kernels::AttentionSettings& settings, const AttentionSizes& sizes)
        : settings_(settings), tile_(settings, sizes), gradient_(key_block * stride) {}

    // For the keys [first, first + count), whose key and value rows are given.
    void compute(const GradientQueries<T, Word>& queries, const Word* keys, std::int64_t key_stride, const Word* values,
                 std::int64_t value_stride, std::int64_t first, std::int64_t count) {
        tile_.compute(queries.columns(), keys, key_stride, first, count);
        multiply_seen(queries.block(), values, value_stride, queries.out_gradient(), first, count, gradient_.data());
        if (settings_.dropout > 0) {
            tile_.choose_dropped();
            tile_.drop(gradient_.data());
        }
        const hn::ScalableTag<T> d;
        for_each_vector([&](std::int64_t at, std::int64_t column) {
            const auto log_sum = hn::Load(d, queries.log_sum() + column), delta = hn::Load(d, queries.delta() + column);
            const auto weight = exp2_of_negative(d, hn::Sub(hn::Load(d, tile_.scores() + at), log_sum));
            hn::Store(weight, d, tile_.scores() + at);
            hn::Store(hn::Mul(weight, hn::Sub(hn::Load(d, gradient_.data() + at), delta)), d, gradient_.data() + at);
        });
        if (settings_.dropout > 0) tile_.drop(tile_.scores());
    }

    // Makes the gradients those of query · key, before the soft cap; once after compute.
    void undo_cap() {
        const hn::ScalableTag<T> d;
        if (!tile_.cap_slope()) return;
        for_each_vector([&](std::int64_t at, std::int64_t) {
            const auto slope = hn::Load(d, tile_.cap_slope() + at);
            hn::Store(hn::Mul(hn::Load(d, gradient_.data() + at), slope), d, gradient_.data() + at);
        });
    }

    std::int64_t columns() const { return tile_.columns(); }
    const T* weights() const { return tile_.scores(); }  // after dropout
    const T* score_gradients() const { return gradient_.data(); }

   private:
    template <class F>
    void for_each_vector(F&& f) {
        for (std::int64_t key = 0; key < tile_.count(); ++key)
            for (std::int64_t column = 0; column < tile_.columns(); column += lane_count<T>())
                f(key * stride + column, column);
    }

    const kernels::AttentionSettings& settings_;
    ScoreTile<T, Word> tile_;
    Scratch<T> gradient_;
};

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
