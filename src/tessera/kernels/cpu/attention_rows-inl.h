// Rows of queries, keys and values of one head, brought together as tiles; compiled once per vector target.
#if defined(TESSERA_ATTENTION_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_ATTENTION_ROWS_INL_H
#undef TESSERA_ATTENTION_ROWS_INL_H
#else
#define TESSERA_ATTENTION_ROWS_INL_H
#endif

#include <hwy/highway.h>

#include "tessera/kernels/cpu/attention_problem.h"
#include "tessera/kernels/cpu/attention_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {

// What the rows of queries are for: scores alone, as in forward, or gradients of keys and values too.
enum class QueryUse { Scores, Gradients };

// The rows of a block's queries in a (B, Tq, H, D) view, in words that products take: transposed, for products over the
// width, a column per query; and as they are, for products over the queries.
template <class T, class Word = T>
class QueryRows {
   public:
    static constexpr std::int64_t transposed_stride = tile_stride<T>(query_block);

    QueryRows(const View& view, QueryUse)
        : view_(view),
          width_(view.size(3)),
          stride_(tile_stride<T>(width_)),
          rows_(query_block * stride_),
          transposed_(width_ * transposed_stride) {}

    // Times `factor`; zeros from the block's count on.
    void load(const QueryBlock& block, T factor) {
        for (std::int64_t i = 0; i < block.count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            load_rows(row_address(view_, block.row, block.query[at], block.head[at]), view_.dtype, 0, 1, width_, factor,
                      rows_.data() + i * stride_, stride_);
        }
        std::fill_n(rows_.data() + block.count * stride_, (query_block - block.count) * stride_, T(0));
        transpose_tile(rows_.data(), stride_, query_block, width_, transposed_.data(), transposed_stride);
    }

    const T* rows() const { return rows_.data(); }
    const T* transposed() const { return transposed_.data(); }
    std::int64_t width() const { return width_; }
    std::int64_t stride() const { return stride_; }

   private:
    const View& view_;
    std::int64_t width_, stride_;
    Scratch<T> rows_, transposed_;
};

// Which factor of a product rows are: the left one of a product over the width, the right one of a product over the
// keys, or now this and now that.
enum class Side { Left, Right, Both };

// The rows of a run of keys in a (B, Tk, KH, D) view, in words that products take.
template <class T, class Word = T>
class KeyRows {
   public:
    KeyRows(const View& view, Side)
        : view_(view), width_(view.size(3)), stride_(tile_stride<T>(width_)), rows_(key_block * stride_) {}

    void load(std::int64_t row, std::int64_t key_head, std::int64_t first, std::int64_t count) {
        load_rows(row_address(view_, row, first, key_head), view_.dtype, view_.strides[1], count, width_, T(1),
                  rows_.data(), stride_);
    }

    // From the key on that has this number in the run; a right factor begins where a word begins.
    const T* left(std::int64_t key) const { return rows_.data() + key * stride_; }
    const T* right(std::int64_t key) const { return rows_.data() + key * stride_; }
    std::int64_t left_stride() const { return stride_; }
    std::int64_t right_stride() const { return stride_; }

   private:
    const View& view_;
    std::int64_t width_, stride_;
    Scratch<T> rows_;
};

// A tile of weights, a row per key and a column per query, in words that products take it as their left factor.
template <class T, class Word = T>
class WeightWords {
   public:
    static constexpr std::int64_t over_keys_stride = tile_stride<T>(query_block);
    static constexpr std::int64_t over_queries_stride = tile_stride<T>(query_block);

    const T* over_keys(const T* tile, std::int64_t, std::int64_t) { return tile; }
    const T* over_queries(const T* tile, std::int64_t, std::int64_t) { return tile; }
};

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
