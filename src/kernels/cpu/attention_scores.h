// Tiles of scores, for attention forward and backward; compiled once per vector target. A tile has a row per key and a
// column per query of the block: keys are then read where they lie, the softmax runs down the columns without any sum
// across a vector, and a query's own numbers (range, slope, maximum) are lanes. Scores are in units of log 2, so that
// weights are powers of two.
#if defined(TESSERA_ATTENTION_SCORES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_ATTENTION_SCORES_H
#undef TESSERA_ATTENTION_SCORES_H
#else
#define TESSERA_ATTENTION_SCORES_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "kernels/cpu/attention_problem.h"
#include "kernels/cpu/attention_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr double log2_e = 1.44269504088896340736;
constexpr double log_of_2 = 0.69314718055994530942;
// Stands for "no score yet": finite, so that subtracting it from −infinity is no NaN, and below any real score.
constexpr double no_score = -1e30;

// The bias of one row of a block for the keys [first, first + count), in units of log 2.
template <class T>
void load_bias_row(const View& bias, const QueryBlock& block, std::int64_t row, std::int64_t first, std::int64_t count,
                   T* to) {
    const auto at = static_cast<std::size_t>(row);
    const std::int64_t step = bias.strides[3] * info(bias.dtype).block_bytes;
    const std::byte* from = row_address(bias, block.row, block.head[at], block.query[at]) + first * step;
    const T factor = static_cast<T>(log2_e);
    if (bias.strides[3] == 1) return load_values(from, bias.dtype, count, count, factor, to);
    for (std::int64_t key = 0; key < count; ++key) load_values(from + key * step, bias.dtype, 1, 1, factor, to + key);
}

// The scores of one query block against a run of keys.
template <class T>
class ScoreTile {
   public:
    static constexpr std::int64_t stride = tile_stride<T>(query_block);

    ScoreTile(const kernels::AttentionSettings& settings, const AttentionSizes& sizes)
        : settings_(settings),
          sizes_(sizes),
          scores_(key_block * stride),
          cap_slope_(settings.soft_cap > 0 ? key_block * stride : 1),
          bias_row_(key_block) {}

    // Queries are multiplied by this when they are loaded. Under a soft cap scores come out of the product in units of
    // the cap, else in units of log 2.
    T query_factor() const {
        return static_cast<T>(settings_.soft_cap > 0 ? settings_.scale / settings_.soft_cap : settings_.scale * log2_e);
    }
    // What a gradient computed with such queries is multiplied by.
    T key_gradient_factor() const { return static_cast<T>(settings_.soft_cap > 0 ? settings_.soft_cap : log_of_2); }

    // Takes the facts of the block's columns. `queries` is transposed: a row per dimension, a column per query.
    void start(const QueryBlock& block, const T* queries) {
        block_ = &block;
        queries_ = queries;
        vectors_ = (block.count + lane_count<T>() - 1) / lane_count<T>();
        for (std::int64_t i = 0; i < query_block; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const bool used = i < block.count && settings_.slopes.defined();
            slope_[i] = used ? static_cast<T>(settings_.slopes.as<const float>()[block.head[at]] * log2_e) : T(0);
            position_[i] = used ? static_cast<T>(settings_.mask.position(block.row, block.query[at])) : T(0);
        }
    }

    // Scores of the keys [first, first + count), whose rows are given; −infinity where a query may not see a key.
    void compute(const T* keys, std::int64_t key_stride, std::int64_t first, std::int64_t count) {
        first_ = first;
        count_ = count;
        multiply<Left::as_is>(Product<T>{keys, key_stride, queries_, stride, scores_.data(), stride, count,
                                         block_->count, sizes_.width, false});
        if (settings_.soft_cap > 0) apply_cap();
        if (settings_.slopes.defined()) add_slopes();
        if (settings_.bias.defined()) add_bias();
        if (first < block_->all.begin || first + count > block_->all.end) hide_outside_ranges();
        if (settings_.mask.hidden_keys) hide_keys();
    }

    T* scores() const { return scores_.data(); }
    std::int64_t first() const { return first_; }
    std::int64_t count() const { return count_; }
    std::int64_t columns() const { return vectors_ * lane_count<T>(); }

    // d capped / d score, up to the factor in key_gradient_factor; null without a cap.
    const T* cap_slope() const { return settings_.soft_cap > 0 ? cap_slope_.data() : nullptr; }

    // Multiplies values (a tile of the same layout) by 1 / (1 − dropout) where the weight is kept and 0 where not.
    void drop(T* values) const {
        const std::uint32_t threshold = settings_.dropout_threshold();
        const T kept = static_cast<T>(1 / (1 - settings_.dropout));
        for (std::int64_t i = 0; i < block_->count; ++i) {
            const std::int64_t start = block_->log_sum_index(sizes_, i) * sizes_.keys + first_;
            RandomBlock random{};
            for (std::int64_t key = 0; key < count_; ++key) {
                const auto index = static_cast<std::uint64_t>(start + key);
                if (key == 0 || index % 4 == 0) random = philox(settings_.dropout_key, index / 4);
                T& value = values[key * stride + i];
                value = random.word[index % 4] >= threshold ? value * kept : T(0);
            }
        }
    }

   private:
    using D = hn::ScalableTag<T>;

    template <class F>
    void for_each_vector(F&& f) {
        for (std::int64_t key = 0; key < count_; ++key)
            for (std::int64_t v = 0; v < vectors_; ++v) f(key, v * lane_count<T>());
    }

    void apply_cap() {
        const D d;
        const auto cap = hn::Set(d, static_cast<T>(settings_.soft_cap * log2_e)), one = hn::Set(d, T(1));
        for_each_vector([&](std::int64_t key, std::int64_t column) {
            T* score = scores_.data() + key * stride + column;
            const auto bent = hn::Tanh(d, hn::Load(d, score));
            hn::Store(hn::Mul(cap, bent), d, score);
            hn::Store(hn::NegMulAdd(bent, bent, one), d, cap_slope_.data() + key * stride + column);
        });
    }

    void add_slopes() {
        const D d;
        for_each_vector([&](std::int64_t key, std::int64_t column) {
            T* score = scores_.data() + key * stride + column;
            const auto distance = hn::Sub(hn::Set(d, static_cast<T>(first_ + key)), hn::Load(d, position_ + column));
            hn::Store(hn::MulAdd(hn::Load(d, slope_ + column), distance, hn::Load(d, score)), d, score);
        });
    }

    void add_bias() {
        for (std::int64_t i = 0; i < block_->count; ++i) {
            load_bias_row(settings_.bias, *block_, i, first_, count_, bias_row_.data());
            for (std::int64_t key = 0; key < count_; ++key) scores_.data()[key * stride + i] += bias_row_.data()[key];
        }
    }

    void hide_outside_ranges() {
        const D d;
        alignas(64) T begin[query_block], end[query_block];  // within this run of keys: small numbers, exact in T
        for (std::int64_t i = 0; i < query_block; ++i) {
            const kernels::KeyRange range = block_->range[static_cast<std::size_t>(i)];
            begin[i] = static_cast<T>(std::clamp<std::int64_t>(range.begin - first_, 0, count_));
            end[i] = static_cast<T>(std::clamp<std::int64_t>(range.end - first_, 0, count_));
        }
        const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
        for_each_vector([&](std::int64_t key, std::int64_t column) {
            T* score = scores_.data() + key * stride + column;
            const auto at = hn::Set(d, static_cast<T>(key));
            const auto seen = hn::And(hn::Ge(at, hn::Load(d, begin + column)), hn::Lt(at, hn::Load(d, end + column)));
            hn::Store(hn::IfThenElse(seen, hn::Load(d, score), hidden), d, score);
        });
    }

    void hide_keys() {
        const bool* hidden = settings_.mask.hidden_keys + block_->row * sizes_.keys + first_;
        for (std::int64_t key = 0; key < count_; ++key)
            if (hidden[key])
                std::fill_n(scores_.data() + key * stride, query_block, -std::numeric_limits<T>::infinity());
    }

    const kernels::AttentionSettings& settings_;
    const AttentionSizes& sizes_;
    Scratch<T> scores_, cap_slope_, bias_row_;
    const QueryBlock* block_ = nullptr;
    const T* queries_ = nullptr;
    std::int64_t vectors_ = 0, first_ = 0, count_ = 0;
    alignas(64) T slope_[query_block];
    alignas(64) T position_[query_block];
};

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
