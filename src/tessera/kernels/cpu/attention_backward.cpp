// Attention backward. A task owns some query blocks of one key head: it writes their query gradients, and adds up the
// gradients of the keys and values they see. With few key heads a head's query blocks are cut into several tasks, each
// with sums of its own that are then added in order.
#include <vector>

#include "tessera/kernels/attention.h"
#include "tessera/kernels/cpu/attention_cut.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/attention_backward.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "tessera/kernels/cpu/attention_gradients-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The sums of one task: a row per key of `range`.
template <class T>
struct KeySums {
    kernels::KeyRange range;
    T* keys;
    T* values;
};

// One query block on its way along the keys.
template <class T, class Word>
class BackwardBlock {
   public:
    BackwardBlock(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views,
                  const AttentionSizes& sizes)
        : settings_(settings),
          views_(views),
          sizes_(sizes),
          queries_(settings, views, sizes),
          stride_(tile_stride<T>(sizes.width)),
          gradient_(query_block * stride_) {}

    void start(const QueryBlock& block) {
        queries_.start(block);
        std::fill_n(gradient_.data(), query_block * stride_, T(0));
    }

    // Goes on over those of the keys [first, first + count) that the block sees; their rows are given.
    void add_keys(GradientTile<T, Word>& tile, WeightWords<T, Word>& words, const KeyRows<T, Word>& keys,
                  const KeyRows<T, Word>& values, std::int64_t first, std::int64_t count, const KeySums<T>& sums) {
        const kernels::KeyRange seen = keys_in_words<Word>(block(), first, count);
        if (seen.begin >= seen.end) return;
        const std::int64_t begin = first + seen.begin, seen_count = seen.end - seen.begin;
        tile.compute(queries_, keys.left(seen.begin), keys.left_stride(), values.left(seen.begin), values.left_stride(),
                     begin, seen_count);
        tile.undo_cap();
        add_key_gradients(tile, words, sums, begin, seen_count);
        if (!views_.query_gradient.defined()) return;
        add_seen<T, Word>(block(), begin,
                          {.a = words.over_keys(tile.score_gradients(), seen_count, tile.columns()),
                           .a_stride = words.over_keys_stride,
                           .b = keys.right(seen.begin),
                           .b_stride = keys.right_stride(),
                           .c = gradient_.data(),
                           .c_stride = stride_,
                           .rows = block().count,
                           .columns = sizes_.width,
                           .depth = seen_count,
                           .add = true});
    }

    void store() {
        if (!views_.query_gradient.defined()) return;
        for (std::int64_t i = 0; i < block().count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            T* row = gradient_.data() + i * stride_;
            store_values(row, static_cast<T>(settings_.scale), sizes_.width, row,
                         row_address(views_.query_gradient, block().row, block().query[at], block().head[at]),
                         views_.query_gradient.dtype);
        }
    }

   private:
    const QueryBlock& block() const { return queries_.block(); }

    void add_key_gradients(const GradientTile<T, Word>& tile, WeightWords<T, Word>& words, const KeySums<T>& sums,
                           std::int64_t first, std::int64_t count) {
        const bool sees_all = block().sees_all(first, count);
        const auto add = [&](const T* weights, const QueryRows<T, Word>& rows, T* to) {
            const Product<T, Word> product{.a = words.over_queries(weights, count, tile.columns()),
                                           .a_stride = words.over_queries_stride,
                                           .b = rows.rows(),
                                           .b_stride = rows.stride(),
                                           .c = to + (first - sums.range.begin) * rows.stride(),
                                           .c_stride = rows.stride(),
                                           .rows = count,
                                           .columns = rows.width(),
                                           .depth = block().count,
                                           .add = true};
            if (sees_all) return multiply<Left::AsIs>(product);
            multiply<Left::AsIs>(product, [&](std::int64_t key, std::int64_t key_end) {
                return block().rows_of(first + key, first + key_end);
            });
        };
        if (views_.value_gradient.defined()) add(tile.weights(), queries_.out_gradient(), sums.values);
        if (views_.key_gradient.defined()) add(tile.score_gradients(), queries_.queries(), sums.keys);
    }

    const kernels::AttentionSettings& settings_;
    const kernels::AttentionBackward& views_;
    const AttentionSizes& sizes_;
    GradientQueries<T, Word> queries_;
    std::int64_t stride_;
    Scratch<T> gradient_;
};

// Adds the parts' rows in order and stores them as the gradient rows of the keys [begin, end) of one key head.
template <class T>
void store_key_rows(const std::vector<KeySums<T>>& parts, T* KeySums<T>::*sums, T factor, std::int64_t width,
                    const View& gradient, std::int64_t row, std::int64_t head, kernels::KeyRange keys) {
    const std::int64_t stride = tile_stride<T>(width);
    Scratch<T> total(stride);
    for (std::int64_t key = keys.begin; key < keys.end; ++key) {
        std::fill_n(total.data(), stride, T(0));
        for (const KeySums<T>& part : parts) {
            if (key < part.range.begin || key >= part.range.end) continue;
            const T* from = part.*sums + (key - part.range.begin) * stride;
            for (std::int64_t i = 0; i < width; ++i) total.data()[i] += from[i];
        }
        store_values(total.data(), factor, width, total.data(), row_address(gradient, row, key, head), gradient.dtype);
    }
}

// What one core needs to run tasks.
template <class T, class Word>
class BackwardWorker {
   public:
    BackwardWorker(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views,
                   const AttentionSizes& sizes)
        : settings_(settings),
          sizes_(sizes),
          first_(settings, views, sizes),
          second_(settings, views, sizes),
          tile_(settings, sizes),
          keys_(views.key, Side::Both),
          values_(views.value, Side::Left) {}

    // The query rows of one key head, two blocks at a time: keys and values are then brought into the caches once for
    // both.
    void run(std::int64_t row, std::int64_t key_head, kernels::KeyRange rows, const KeySums<T>& sums) {
        for (std::int64_t first = rows.begin; first < rows.end; first += 2 * query_block) {
            const auto block_at = [&](std::int64_t at) {
                const std::int64_t count = std::clamp<std::int64_t>(rows.end - at, 0, query_block);
                return QueryBlock(settings_.mask, sizes_, row, key_head, at, count);
            };
            run_pair(block_at(first), block_at(first + query_block), sums);
        }
    }

   private:
    void run_pair(const QueryBlock& first_block, const QueryBlock& second_block, const KeySums<T>& sums) {
        first_.start(first_block);
        second_.start(second_block);
        const bool first_sees = first_block.any.end > 0, second_sees = second_block.any.end > 0;
        const std::int64_t begin = !first_sees    ? second_block.any.begin
                                   : !second_sees ? first_block.any.begin
                                                  : std::min(first_block.any.begin, second_block.any.begin);
        const std::int64_t end = std::max(first_block.any.end, second_block.any.end);
        for (std::int64_t key = begin; key < end; key += key_block) {
            const std::int64_t count = std::min(key_block, end - key);
            keys_.load(first_block.row, first_block.key_head, key, count);
            values_.load(first_block.row, first_block.key_head, key, count);
            first_.add_keys(tile_, words_, keys_, values_, key, count, sums);
            second_.add_keys(tile_, words_, keys_, values_, key, count, sums);
        }
        first_.store();
        second_.store();
    }

    const kernels::AttentionSettings& settings_;
    const AttentionSizes& sizes_;
    BackwardBlock<T, Word> first_, second_;
    GradientTile<T, Word> tile_;
    WeightWords<T, Word> words_;
    KeyRows<T, Word> keys_, values_;
};

template <class T, class Word = T>
class Backward {
   public:
    Backward(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views)
        : settings_(settings),
          views_(views),
          sizes_(views.query, views.key, views.value),
          cut_(sizes_, blocks_per_part(sizes_)),
          row_elements_(tile_stride<T>(sizes_.width) + tile_stride<T>(sizes_.value_width)) {}

    void run() {
        // With one task per key head its sums are stored as soon as it is done, and every core reuses its own buffer.
        const bool one_part = cut_.parts == 1;
        std::vector<KeySums<T>> sums(static_cast<std::size_t>(cut_.tasks()));  // by head, then part
        std::int64_t keys = 0;
        for (std::int64_t i = 0; i < cut_.tasks(); ++i) {
            KeySums<T>& own = sums[static_cast<std::size_t>(i)];
            own.range = keys_of_part(settings_.mask, sizes_, cut_, i / cut_.parts, i % cut_.parts);
            keys += own.range.end - own.range.begin;
        }
        const Scratch<T> shared(one_part ? 1 : keys * row_elements_);
        T* place_at = shared.data();
        if (!one_part)
            for (KeySums<T>& own : sums) place_at = place(own, place_at);
        share_tasks(cut_.tasks(), sizes_.worth_sharing(), [&](auto next) {
            BackwardWorker<T, Word> worker(settings_, views_, sizes_);
            const Scratch<T> own_buffer(one_part ? sizes_.keys * row_elements_ : 1);
            for (std::int64_t task = next(); task >= 0; task = next()) {
                const std::int64_t head = cut_.head_of(task), part = cut_.part_of(task);
                KeySums<T> own = sums[static_cast<std::size_t>(head * cut_.parts + part)];
                if (one_part) place(own, own_buffer.data());
                std::fill_n(own.keys, (own.range.end - own.range.begin) * row_elements_, T(0));
                worker.run(head / sizes_.key_heads, head % sizes_.key_heads, cut_.query_rows(sizes_, part), own);
                if (one_part) store_keys({own}, head, {0, sizes_.keys});
            }
        });
        if (!one_part) store_all_keys(sums);
    }

   private:
    // Several parts where there are few key heads, each long enough to be worth sums of its own.
    static std::int64_t blocks_per_part(const AttentionSizes& sizes) {
        constexpr std::int64_t enough_tasks = 8, least_blocks = 4;
        const std::int64_t heads = sizes.rows * sizes.key_heads, wanted = (enough_tasks + heads - 1) / heads;
        return std::max(least_blocks, (sizes.query_blocks() + wanted - 1) / wanted);
    }

    // Gives a task its rows in `buffer`; returns where they end.
    T* place(KeySums<T>& own, T* buffer) const {
        const std::int64_t keys = own.range.end - own.range.begin;
        own.keys = buffer;
        own.values = buffer + keys * tile_stride<T>(sizes_.width);
        return buffer + keys * row_elements_;
    }

    void store_all_keys(const std::vector<KeySums<T>>& sums) const {
        parallel_for(cut_.heads * sizes_.keys, 256, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t head = begin / sizes_.keys; head * sizes_.keys < end; ++head) {
                const auto first = sums.begin() + head * cut_.parts;
                store_keys({first, first + cut_.parts}, head,
                           {std::max<std::int64_t>(0, begin - head * sizes_.keys),
                            std::min(sizes_.keys, end - head * sizes_.keys)});
            }
        });
    }

    void store_keys(const std::vector<KeySums<T>>& parts, std::int64_t head, kernels::KeyRange keys) const {
        const std::int64_t row = head / sizes_.key_heads, key_head = head % sizes_.key_heads;
        if (views_.key_gradient.defined())
            store_key_rows(parts, &KeySums<T>::keys, QueryColumns<T, Word>::gradient_factor(settings_), sizes_.width,
                           views_.key_gradient, row, key_head, keys);
        if (views_.value_gradient.defined())
            store_key_rows(parts, &KeySums<T>::values, T(1), sizes_.value_width, views_.value_gradient, row, key_head,
                           keys);
    }

    const kernels::AttentionSettings& settings_;
    const kernels::AttentionBackward& views_;
    AttentionSizes sizes_;
    AttentionCut cut_;
    std::int64_t row_elements_;
};

void attention_backward_f32(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views) {
    Backward<float>(settings, views).run();
}
// All of it bf16, its products too.
void attention_backward_bf16(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views) {
#if TESSERA_BF16_PAIRS
    Backward<float, Bf16Pair>(settings, views).run();
#else
    Backward<float>(settings, views).run();
#endif
}
void attention_backward_f64(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views) {
    Backward<double>(settings, views).run();
}

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {
namespace {

HWY_EXPORT(attention_backward_f32);
HWY_EXPORT(attention_backward_bf16);
HWY_EXPORT(attention_backward_f64);

void attention_backward_on_cpu(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views) {
    if (views.query.size(0) == 0) return;
    if (views.query.dtype == DType::F64)
        HWY_DYNAMIC_DISPATCH(attention_backward_f64)(settings, views);
    else if (views.query.dtype == DType::BF16 && multiplies_bf16_pairs())
        HWY_DYNAMIC_DISPATCH(attention_backward_bf16)(settings, views);
    else
        HWY_DYNAMIC_DISPATCH(attention_backward_f32)(settings, views);
}

const RegisterKernel register_backward{kernels::attention_backward, DeviceKind::CPU, attention_backward_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
#endif
