// Attention forward. Some query blocks of one key head walk their keys together, so that keys and values are brought
// into the caches once for all of them. Every query keeps the largest score so far, the sum of the weights relative to
// it, and the weighted sum of the values (online softmax: Milakov & Gimelshein 2018).
#include <cmath>
#include <deque>

#include "tessera/kernels/attention.h"
#include "tessera/kernels/cpu/attention_cut.h"
#include "tessera/kernels/cpu/attention_decode.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/attention_forward.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "tessera/kernels/cpu/attention_scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t forward_blocks = 4;  // their queries and outputs fill about half of a second-level cache

// One query block on its way along the keys.
template <class T, class Word>
class ForwardBlock {
   public:
    ForwardBlock(const kernels::AttentionSettings& settings, const kernels::AttentionForward& views,
                 const AttentionSizes& sizes)
        : settings_(settings),
          views_(views),
          sizes_(sizes),
          queries_(settings, views.query, QueryUse::Scores),
          stride_(tile_stride<T>(sizes.value_width)),
          out_(query_block * stride_) {}

    void start(const QueryBlock& block) {
        queries_.start(block);
        std::fill_n(maximum_, query_block, static_cast<T>(no_score));
        std::fill_n(sum_, query_block, T(0));
        std::fill_n(out_.data(), query_block * stride_, T(0));
    }

    const QueryBlock& block() const { return queries_.block(); }

    // Goes on over those of the keys [first, first + count) that the block sees; their rows are given.
    void add_keys(ScoreTile<T, Word>& tile, WeightWords<T, Word>& words, const KeyRows<T, Word>& keys,
                  const KeyRows<T, Word>& values, std::int64_t first, std::int64_t count) {
        const kernels::KeyRange seen = keys_in_words<Word>(block(), first, count);
        if (seen.begin >= seen.end) return;
        const std::int64_t begin = first + seen.begin, seen_count = seen.end - seen.begin;
        tile.compute(queries_, keys.left(seen.begin), keys.left_stride(), begin, seen_count);
        take_weights(tile);
        scale_out();
        if (settings_.dropout > 0) {
            tile.choose_dropped();
            tile.drop(tile.scores());
        }
        add_seen<T, Word>(block(), begin,
                          {.a = words.over_keys(tile.scores(), seen_count, tile.columns()),
                           .a_stride = words.over_keys_stride,
                           .b = values.right(seen.begin),
                           .b_stride = values.right_stride(),
                           .c = out_.data(),
                           .c_stride = stride_,
                           .rows = block().count,
                           .columns = sizes_.value_width,
                           .depth = seen_count,
                           .add = true});
    }

    void store() {
        for (std::int64_t i = 0; i < block().count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const bool seen_none = sum_[i] == T(0);
            views_.log_sum.as<T>()[block().log_sum_index(sizes_, i)] =
                seen_none ? -std::numeric_limits<T>::infinity()
                          : static_cast<T>((maximum_[i] + std::log2(sum_[i])) * log_of_2);
            T* out = out_.data() + i * stride_;
            store_values(out, seen_none ? T(0) : 1 / sum_[i], sizes_.value_width, out,
                         row_address(views_.out, block().row, block().query[at], block().head[at]), views_.out.dtype);
        }
    }

   private:
    // Turns the tile's scores into weights relative to the new maximum, and remembers how the old ones shrink.
    void take_weights(const ScoreTile<T, Word>& tile) {
        const hn::ScalableTag<T> d;
        constexpr std::int64_t stride = ScoreTile<T, Word>::stride;
        for (std::int64_t column = 0; column < tile.columns(); column += lane_count<T>()) {
            T* scores = tile.scores() + column;
            const auto old_maximum = hn::Load(d, maximum_ + column);
            auto maximum = old_maximum;
            for (std::int64_t key = 0; key < tile.count(); ++key)
                maximum = hn::Max(maximum, hn::Load(d, scores + key * stride));
            auto sum = hn::Zero(d);
            for (std::int64_t key = 0; key < tile.count(); ++key) {
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

    void scale_out() {
        for (std::int64_t i = 0; i < block().count; ++i) {
            if (shrink_[i] == T(1)) continue;
            T* out = out_.data() + i * stride_;
            for (std::int64_t j = 0; j < sizes_.value_width; ++j) out[j] *= shrink_[i];
        }
    }

    const kernels::AttentionSettings& settings_;
    const kernels::AttentionForward& views_;
    const AttentionSizes& sizes_;
    QueryColumns<T, Word> queries_;
    std::int64_t stride_;
    Scratch<T> out_;
    alignas(64) T maximum_[query_block];
    alignas(64) T sum_[query_block];
    alignas(64) T shrink_[query_block];
};

template <class T, class Word = T>
void forward(const kernels::AttentionSettings& settings, const kernels::AttentionForward& views) {
    const AttentionSizes sizes(views.query, views.key, views.value);
    const AttentionCut cut(sizes, std::min(forward_blocks, sizes.query_blocks()));
    share_tasks(cut.tasks(), sizes.worth_sharing(), [&](auto next) {
        std::deque<ForwardBlock<T, Word>> blocks;
        for (std::int64_t i = 0; i < cut.blocks_per_part; ++i) blocks.emplace_back(settings, views, sizes);
        ScoreTile<T, Word> tile(settings, sizes);
        WeightWords<T, Word> words;
        KeyRows<T, Word> keys(views.key, Side::Left), values(views.value, Side::Right);
        for (std::int64_t task = next(); task >= 0; task = next()) {
            const std::int64_t head = cut.head_of(task), row = head / sizes.key_heads,
                               key_head = head % sizes.key_heads;
            const kernels::KeyRange rows = cut.query_rows(sizes, cut.part_of(task));
            const kernels::KeyRange seen = keys_of_part(settings.mask, sizes, cut, head, cut.part_of(task));
            const auto used = blocks.begin() + (rows.end - rows.begin + query_block - 1) / query_block;
            for (auto block = blocks.begin(); block != used; ++block) {
                const std::int64_t first = rows.begin + (block - blocks.begin()) * query_block;
                block->start(
                    QueryBlock(settings.mask, sizes, row, key_head, first, std::min(query_block, rows.end - first)));
            }
            for (std::int64_t first = seen.begin; first < seen.end; first += key_block) {
                const std::int64_t count = std::min(key_block, seen.end - first);
                keys.load(row, key_head, first, count);
                values.load(row, key_head, first, count);
                for (auto block = blocks.begin(); block != used; ++block)
                    block->add_keys(tile, words, keys, values, first, count);
            }
            for (auto block = blocks.begin(); block != used; ++block) block->store();
        }
    });
}

void attention_forward_f32(const kernels::AttentionSettings& settings, const kernels::AttentionForward& views) {
    forward<float>(settings, views);
}
// All of it bf16, its products too.
void attention_forward_bf16(const kernels::AttentionSettings& settings, const kernels::AttentionForward& views) {
#if TESSERA_BF16_PAIRS
    forward<float, Bf16Pair>(settings, views);
#else
    forward<float>(settings, views);
#endif
}
void attention_forward_f64(const kernels::AttentionSettings& settings, const kernels::AttentionForward& views) {
    forward<double>(settings, views);
}

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {
namespace {

HWY_EXPORT(attention_forward_f32);
HWY_EXPORT(attention_forward_bf16);
HWY_EXPORT(attention_forward_f64);

void attention_on_cpu(const kernels::AttentionSettings& settings, const kernels::AttentionForward& views) {
    if (views.log_sum.elements() == 0) return;
    if (AttentionSizes(views.query, views.key, views.value).query_rows() <= few_rows && settings.dropout == 0)
        return attention_of_few(settings, views);
    if (views.query.dtype == DType::F64)
        HWY_DYNAMIC_DISPATCH(attention_forward_f64)(settings, views);
    else if (views.query.dtype == DType::BF16 && multiplies_bf16_pairs())
        HWY_DYNAMIC_DISPATCH(attention_forward_bf16)(settings, views);
    else
        HWY_DYNAMIC_DISPATCH(attention_forward_f32)(settings, views);
}

const RegisterKernel register_attention{kernels::attention, DeviceKind::CPU, attention_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
#endif
