// Rows of queries, keys, values and weights as pairs of bf16, for the same products in half as many steps; compiled
// once per vector target.
#if defined(TESSERA_ATTENTION_PAIR_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_ATTENTION_PAIR_ROWS_INL_H
#undef TESSERA_ATTENTION_PAIR_ROWS_INL_H
#else
#define TESSERA_ATTENTION_PAIR_ROWS_INL_H
#endif

#include <hwy/highway.h>

#include <cstring>

#include "tessera/kernels/cpu/attention_rows-inl.h"
#include "tessera/kernels/cpu/bf16_pairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
#if TESSERA_BF16_PAIRS

// Neighbours of a row in one word, and zeros up to the stride.
HWY_INLINE void load_pairs_along(const std::byte* row, std::int64_t width, Bf16Pair* to, std::int64_t stride) {
    const hn::ScalableTag<Bf16Pair> words;
    const auto* from = reinterpret_cast<const Bf16Pair*>(row);
    const std::int64_t whole = width / 2;
    std::int64_t i = 0;
    for (; i + lane_count<Bf16Pair>() <= whole; i += lane_count<Bf16Pair>())
        hn::Store(hn::LoadU(words, from + i), words, to + i);
    const auto left = static_cast<std::size_t>(width - 2 * i) * sizeof(BFloat16);
    if (left > 0) {
        to[whole] = 0;  // the last word may be half full
        std::memcpy(to + i, from + i, left);
    }
    std::fill(to + words_of<Bf16Pair>(width), to + stride, Bf16Pair{0});
}

// Numbers of two rows, at the same place, in one word, and zeros up to the stride. Without a second row zeros take its
// place.
HWY_INLINE void load_pairs_across(const std::byte* first, const std::byte* second, std::int64_t width, Bf16Pair* to,
                                  std::int64_t stride) {
    const hn::ScalableTag<Bf16Pair> words;
    const hn::Rebind<std::uint16_t, decltype(words)> halves;
    const std::int64_t lanes = lane_count<float>();
    const auto* low = reinterpret_cast<const std::uint16_t*>(first);
    const auto* high = reinterpret_cast<const std::uint16_t*>(second);
    std::int64_t i = 0;
    for (; i + lanes <= width; i += lanes) {
        const auto below = hn::PromoteTo(words, hn::LoadU(halves, low + i));
        const auto above = high ? hn::PromoteTo(words, hn::LoadU(halves, high + i)) : hn::Zero(words);
        hn::Store(hn::Or(below, hn::ShiftLeft<16>(above)), words, to + i);
    }
    for (; i < width; ++i) to[i] = low[i] | Bf16Pair{high ? high[i] : std::uint16_t{0}} << 16;
    for (; i < stride; ++i) to[i] = 0;
}

template <>
class QueryRows<float, Bf16Pair> {
   public:
    static constexpr std::int64_t transposed_stride = tile_stride<Bf16Pair>(query_block);

    QueryRows(const View& view, QueryUse use)
        : view_(view),
          use_(use),
          width_(view.size(3)),
          stride_(tile_stride<float>(width_)),
          along_stride_(tile_stride<Bf16Pair>(words_of<Bf16Pair>(width_))),
          rows_(use == QueryUse::Scores ? 1 : query_block / 2 * stride_),
          along_(query_block * along_stride_),
          transposed_(words_of<Bf16Pair>(width_) * transposed_stride) {}

    // As they are: scores are scaled after the product, so that nothing is rounded twice.
    void load(const QueryBlock& block, float) {
        const auto address = [&](std::int64_t i) {
            const auto at = static_cast<std::size_t>(i);
            return row_address(view_, block.row, block.query[at], block.head[at]);
        };
        for (std::int64_t i = 0; i < block.count; ++i)
            load_pairs_along(address(i), width_, along_.data() + i * along_stride_, along_stride_);
        std::fill_n(along_.data() + block.count * along_stride_, (query_block - block.count) * along_stride_, 0);
        // Moved as numbers of the same size.
        transpose_tile(reinterpret_cast<const float*>(along_.data()), along_stride_, query_block,
                       words_of<Bf16Pair>(width_), reinterpret_cast<float*>(transposed_.data()), transposed_stride);
        if (use_ == QueryUse::Scores) return;
        for (std::int64_t i = 0; i < block.count; i += 2)
            load_pairs_across(address(i), i + 1 < block.count ? address(i + 1) : nullptr, width_,
                              rows_.data() + i / 2 * stride_, stride_);
    }

    const Bf16Pair* rows() const { return rows_.data(); }
    const Bf16Pair* transposed() const { return transposed_.data(); }
    std::int64_t width() const { return width_; }
    std::int64_t stride() const { return stride_; }

   private:
    const View& view_;
    QueryUse use_;
    std::int64_t width_, stride_, along_stride_;
    Scratch<Bf16Pair> rows_, along_, transposed_;
};

template <>
class KeyRows<float, Bf16Pair> {
   public:
    KeyRows(const View& view, Side side)
        : view_(view),
          side_(side),
          width_(view.size(3)),
          left_stride_(tile_stride<Bf16Pair>(words_of<Bf16Pair>(width_))),
          right_stride_(tile_stride<float>(width_)),
          left_(side == Side::Right ? 1 : key_block * left_stride_),
          right_(side == Side::Left ? 1 : key_block / 2 * right_stride_) {}

    void load(std::int64_t row, std::int64_t key_head, std::int64_t first, std::int64_t count) {
        const auto address = [&](std::int64_t i) { return row_address(view_, row, first + i, key_head); };
        if (side_ != Side::Right)
            for (std::int64_t i = 0; i < count; ++i)
                load_pairs_along(address(i), width_, left_.data() + i * left_stride_, left_stride_);
        if (side_ != Side::Left)
            for (std::int64_t i = 0; i < count; i += 2)
                load_pairs_across(address(i), i + 1 < count ? address(i + 1) : nullptr, width_,
                                  right_.data() + i / 2 * right_stride_, right_stride_);
    }

    const Bf16Pair* left(std::int64_t key) const { return left_.data() + key * left_stride_; }
    const Bf16Pair* right(std::int64_t key) const { return right_.data() + key / 2 * right_stride_; }
    std::int64_t left_stride() const { return left_stride_; }
    std::int64_t right_stride() const { return right_stride_; }

   private:
    const View& view_;
    Side side_;
    std::int64_t width_, left_stride_, right_stride_;
    Scratch<Bf16Pair> left_, right_;
};

template <>
class WeightWords<float, Bf16Pair> {
   public:
    static constexpr std::int64_t over_keys_stride = tile_stride<Bf16Pair>(query_block);
    static constexpr std::int64_t over_queries_stride = tile_stride<Bf16Pair>(query_block / 2);

    WeightWords() : over_keys_(key_block / 2 * over_keys_stride), over_queries_(key_block * over_queries_stride) {}

    // Of a tile of `keys` rows and `columns` columns, a multiple of a vector's lanes.
    const Bf16Pair* over_keys(const float* tile, std::int64_t keys, std::int64_t columns) {
        const hn::ScalableTag<float> d;
        const hn::ScalableTag<Bf16Pair> words;
        for (std::int64_t key = 0; key < keys; key += 2)
            for (std::int64_t column = 0; column < columns; column += lane_count<float>()) {
                const float* from = tile + key * tile_stride<float>(query_block) + column;
                const auto second = key + 1 < keys ? hn::Load(d, from + tile_stride<float>(query_block)) : hn::Zero(d);
                hn::Store(rounded_pairs_across(hn::Load(d, from), second), words,
                          over_keys_.data() + key / 2 * over_keys_stride + column);
            }
        return over_keys_.data();
    }

    const Bf16Pair* over_queries(const float* tile, std::int64_t keys, std::int64_t columns) {
        const hn::ScalableTag<float> d;
        const hn::ScalableTag<Bf16Pair> words;
        const std::int64_t lanes = lane_count<float>();
        for (std::int64_t key = 0; key < keys; ++key)
            for (std::int64_t column = 0; column < columns; column += 2 * lanes) {
                const float* from = tile + key * tile_stride<float>(query_block) + column;
                const auto second = column + lanes < columns ? hn::Load(d, from + lanes) : hn::Zero(d);
                hn::Store(rounded_pairs(hn::Load(d, from), second), words,
                          over_queries_.data() + key * over_queries_stride + column / 2);
            }
        return over_queries_.data();
    }

   private:
    Scratch<Bf16Pair> over_keys_, over_queries_;
};

#endif
}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
