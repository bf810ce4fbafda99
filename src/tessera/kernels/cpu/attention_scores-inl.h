// Tiles of scores, for attention forward and backward; compiled once per vector target. A tile has a row per key and a
// column per query of the block: keys are then read where they lie, the softmax runs down the columns without any sum
// across a vector, and a query's own numbers (range, slope, maximum) are lanes. Scores are in units of log 2, so that
// weights are powers of two.
#if defined(TESSERA_ATTENTION_SCORES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_ATTENTION_SCORES_INL_H
#undef TESSERA_ATTENTION_SCORES_INL_H
#else
#define TESSERA_ATTENTION_SCORES_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "tessera/kernels/cpu/attention_dropout-inl.h"
#include "tessera/kernels/cpu/attention_pair_rows-inl.h"
#include "tessera/kernels/cpu/attention_problem.h"
#include "tessera/kernels/cpu/attention_rows-inl.h"
#include "tessera/kernels/cpu/attention_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr double log2_e = 1.44269504088896340736;
constexpr double log_of_2 = 0.69314718055994530942;
// Stands for "no score yet": finite, so that subtracting it from −infinity is no NaN, and below any real score.
constexpr double no_score = -1e30;

// The queries of a block, and what else of it goes into scores.
template <class T, class Word = T>
class QueryColumns {
   public:
    QueryColumns(const kernels::AttentionSettings& settings, const View& query, QueryUse use)
        : settings_(settings), rows_(query, use) {}

    void start(const QueryBlock& block) {
        block_ = block;
        rows_.load(block, factor(settings_));
        for (std::int64_t i = 0; i < query_block; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const bool used = i < block.count && settings_.slopes.defined();
            slope_[i] = used ? static_cast<T>(settings_.slopes.as<const float>()[block.head[at]] * log2_e) : T(0);
            position_[i] = used ? static_cast<T>(settings_.mask.position(block.row, block.query[at])) : T(0);
        }
    }

    // Queries are multiplied by this when they are loaded, or, where they are pairs of bf16, scores when they are
    // made. Under a soft cap scores are then in units of the cap, else in units of log 2.
    static T factor(const kernels::AttentionSettings& settings) {
        return static_cast<T>(settings.soft_cap > 0 ? settings.scale / settings.soft_cap : settings.scale * log2_e);
    }
    // What a gradient computed with such queries is multiplied by.
    static T gradient_factor(const kernels::AttentionSettings& settings) {
        if constexpr (is_pair<Word>) return static_cast<T>(settings.scale);
        return static_cast<T>(settings.soft_cap > 0 ? settings.soft_cap : log_of_2);
    }

    const QueryBlock& block() const { return block_; }
    const QueryRows<T, Word>& rows() const { return rows_; }
    const T* slope() const { return slope_; }
    const T* position() const { return position_; }
    // Columns of a tile for this block: whole vectors.
    std::int64_t columns() const { return (block_.count + lane_count<T>() - 1) / lane_count<T>() * lane_count<T>(); }

   private:
    const kernels::AttentionSettings& settings_;
    QueryBlock block_;
    QueryRows<T, Word> rows_;
    alignas(64) T slope_[query_block];     // of ALiBi, in units of log 2
    alignas(64) T position_[query_block];  // where ALiBi counts from
};

// The bias of one row of a block for the keys [first, first + count), in units of log 2.
template <class T>
void load_bias_row(const View& bias, const QueryBlock& block, std::int64_t row, std::int64_t first, std::int64_t count,
                   T* to) {
    const auto at = static_cast<std::size_t>(row);
    const std::byte* start = row_address(bias, block.row, block.head[at], block.query[at]);
    with_type<T>(start, bias.dtype, [&]<class In>(const In* from) {
        from += first * bias.strides[3];
        for (std::int64_t key = 0; key < count; ++key)
            to[key] = convert<In, T>(from[key * bias.strides[3]]) * static_cast<T>(log2_e);
    });
}

// Those of the keys [first, first + count) that a block sees, counted from `first`, from the beginning of a word on: a
// key before that which nobody sees gets a weight of 0.
template <class Word>
kernels::KeyRange keys_in_words(const QueryBlock& block, std::int64_t first, std::int64_t count) {
    const std::int64_t begin = std::max<std::int64_t>(0, block.any.begin - first);
    return {begin / steps_of<Word> * steps_of<Word>, std::min(count, block.any.end - first)};
}

// A product of the block's weights, a column per query, with the rows of the keys [first, first + depth); what no query
// of some rows sees is left out.
template <class T, class Word>
void add_seen(const QueryBlock& block, std::int64_t first, const Product<T, Word>& product) {
    if (block.sees_all(first, product.depth)) return multiply<Left::Transposed>(product);
    multiply<Left::Transposed>(product, [&](std::int64_t row, std::int64_t row_end) {
        return block.keys_of(row, row_end, first, product.depth);
    });
}

// tile = rows of the keys [first, first + count) · transposed rows of the queries. Where no query of two vectors of
// columns sees a key the product is left out, and the tile gets zeros.
template <class T, class Word>
void multiply_seen(const QueryBlock& block, const Word* rows, std::int64_t row_stride,
                   const QueryRows<T, Word>& queries, std::int64_t first, std::int64_t count, T* tile) {
    constexpr std::int64_t stride = QueryRows<T, Word>::transposed_stride;
    Product<T, Word> product{rows,   row_stride, queries.transposed(), stride,          tile,
                             stride, count,      block.count,          queries.width(), false};
    if (block.sees_all(first, count)) return multiply<Left::AsIs>(product);
    for (std::int64_t column = 0; column < block.count; column += 2 * lane_count<T>()) {
        const std::int64_t end = std::min(column + 2 * lane_count<T>(), query_block);
        const kernels::KeyRange seen = block.keys_of(column, end, first, count);
        for (std::int64_t key = 0; key < count; ++key)
            if (key < seen.begin || key >= seen.end)
                std::fill(tile + key * stride + column, tile + key * stride + end, T(0));
        product.a = rows + seen.begin * row_stride;
        product.b = queries.transposed() + column;
        product.c = tile + seen.begin * stride + column;
        product.rows = seen.end - seen.begin;
        product.columns = std::min(end, block.count) - column;
        multiply<Left::AsIs>(product);
    }
}

// The scores of one query block against a run of keys.
template <class T, class Word = T>
class ScoreTile {
   public:
    static constexpr std::int64_t stride = QueryRows<T, Word>::transposed_stride;

    ScoreTile(const kernels::AttentionSettings& settings, const AttentionSizes& sizes)
        : settings_(settings),
          sizes_(sizes),
          scores_(key_block * stride),
          cap_slope_(settings.soft_cap > 0 ? key_block * stride : 1),
          keep_(settings.dropout > 0 ? key_block * stride : 1),
          bias_(settings.bias.defined() ? key_block * stride : 1),
          by_query_(settings.bias.defined() || settings.dropout > 0 ? query_block * by_query_stride : 1) {}

    // Scores of the keys [first, first + count), whose rows are given; −infinity where a query may not see a key.
    void compute(const QueryColumns<T, Word>& queries, const Word* keys, std::int64_t key_stride, std::int64_t first,
                 std::int64_t count) {
        queries_ = &queries;
        first_ = first;
        count_ = count;
        multiply_seen(block(), keys, key_stride, queries.rows(), first, count, scores_.data());
        if constexpr (is_pair<Word>) scale();
        if (settings_.soft_cap > 0) apply_cap();
        if (settings_.slopes.defined()) add_slopes();
        if (settings_.bias.defined()) add_bias();
        if (!block().sees_all(first, count)) hide_outside_ranges();
        if (settings_.mask.hidden_keys) hide_keys();
    }

    T* scores() const { return scores_.data(); }
    std::int64_t first() const { return first_; }
    std::int64_t count() const { return count_; }
    std::int64_t columns() const { return queries_->columns(); }
    const QueryBlock& block() const { return queries_->block(); }

    // d capped / d score, up to the factor in gradient_factor; null without a cap.
    const T* cap_slope() const { return settings_.soft_cap > 0 ? cap_slope_.data() : nullptr; }

    // Chooses which of the tile's weights are kept, for the calls of drop that follow.
    void choose_dropped() {
        const T kept = static_cast<T>(1 / (1 - settings_.dropout));
        for (std::int64_t i = 0; i < block().count; ++i) {
            const std::int64_t start = block().log_sum_index(sizes_, i) * sizes_.keys + first_;
            dropout_factors(settings_.dropout_key, settings_.dropout_threshold(), kept,
                            static_cast<std::uint64_t>(start), count_, by_query_.data() + i * by_query_stride);
        }
        transpose_tile(by_query_.data(), by_query_stride, block().count, count_, keep_.data(), stride);
    }

    // Multiplies values (a tile of the same layout) by 1 / (1 − dropout) where the weight is kept and by 0 where not.
    void drop(T* values) {
        const D d;
        for_each_vector([&](std::int64_t key, std::int64_t column) {
            const std::int64_t at = key * stride + column;
            hn::Store(hn::Mul(hn::Load(d, values + at), hn::Load(d, keep_.data() + at)), d, values + at);
        });
    }

   private:
    using D = hn::ScalableTag<T>;
    static constexpr std::int64_t by_query_stride = tile_stride<T>(key_block);

    template <class F>
    void for_each_vector(F&& f) {
        for (std::int64_t key = 0; key < count_; ++key)
            for (std::int64_t column = 0; column < columns(); column += lane_count<T>()) f(key, column);
    }

    void scale() {
        const D d;
        const auto factor = hn::Set(d, QueryColumns<T, Word>::factor(settings_));
        for_each_vector([&](std::int64_t key, std::int64_t column) {
            T* score = scores_.data() + key * stride + column;
            hn::Store(hn::Mul(factor, hn::Load(d, score)), d, score);
        });
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
            const auto position = hn::Load(d, queries_->position() + column);
            const auto distance = hn::Sub(hn::Set(d, static_cast<T>(first_ + key)), position);
            hn::Store(hn::MulAdd(hn::Load(d, queries_->slope() + column), distance, hn::Load(d, score)), d, score);
        });
    }

    void add_bias() {
        const D d;
        for (std::int64_t i = 0; i < block().count; ++i)
            load_bias_row(settings_.bias, block(), i, first_, count_, by_query_.data() + i * by_query_stride);
        transpose_tile(by_query_.data(), by_query_stride, block().count, count_, bias_.data(), stride);
        for_each_vector([&](std::int64_t key, std::int64_t column) {
            const std::int64_t at = key * stride + column;
            hn::Store(hn::Add(hn::Load(d, scores_.data() + at), hn::Load(d, bias_.data() + at)), d,
                      scores_.data() + at);
        });
    }

    void hide_outside_ranges() {
        const D d;
        alignas(64) T begin[query_block], end[query_block];  // within this run of keys: small numbers, exact in T
        for (std::int64_t i = 0; i < query_block; ++i) {
            const kernels::KeyRange range = block().range[static_cast<std::size_t>(i)];
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
        const bool* hidden = settings_.mask.hidden_keys + block().row * sizes_.keys + first_;
        for (std::int64_t key = 0; key < count_; ++key)
            if (hidden[key])
                std::fill_n(scores_.data() + key * stride, query_block, -std::numeric_limits<T>::infinity());
    }

    const kernels::AttentionSettings& settings_;
    const AttentionSizes& sizes_;
    const QueryColumns<T, Word>* queries_ = nullptr;
    Scratch<T> scores_, cap_slope_, keep_, bias_;
    Scratch<T> by_query_;  // a row per query, on its way to be transposed
    std::int64_t first_ = 0, count_ = 0;
};

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
