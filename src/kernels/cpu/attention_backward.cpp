// Attention backward. A task owns some query blocks of one key head: it writes their query gradients, and adds up the
// gradients of the keys and values they see. With few key heads a head's query blocks are cut into several tasks, each
// with sums of its own that are then added in order.
#include <vector>

#include "kernels/attention.h"
#include "kernels/cpu/attention_cut.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_backward.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "kernels/cpu/attention_gradients.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The sums of one task: a row per key of `range`.
template <class T>
struct KeySums {
    kernels::KeyRange range;
    T* keys;
    T* values;
};

template <class T>
class BackwardBlock {
   public:
    BackwardBlock(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views,
                  const AttentionSizes& sizes)
        : settings_(settings),
          views_(views),
          sizes_(sizes),
          tile_(settings, views, sizes),
          query_gradient_(query_block * tile_.width_stride()) {}

    void run(const QueryBlock& block, const KeySums<T>& sums) {
        if (block.any.begin < block.any.end) tile_.start(block);
        std::fill_n(query_gradient_.data(), query_block * tile_.width_stride(), T(0));
        for (std::int64_t first = block.any.begin; first < block.any.end; first += key_block) {
            const std::int64_t count = std::min(key_block, block.any.end - first);
            tile_.compute(first, count);
            tile_.undo_cap();
            add_products(block, sums, first, count);
        }
        if (views_.query_gradient.defined()) store_query_gradient(block);
    }

    T key_gradient_factor() const { return tile_.key_gradient_factor(); }

   private:
    void add_products(const QueryBlock& block, const KeySums<T>& sums, std::int64_t first, std::int64_t count) {
        const std::int64_t stride = tile_.stride, width = tile_.width_stride(), value_width = tile_.value_stride();
        const std::int64_t at = first - sums.range.begin;
        if (views_.value_gradient.defined())
            multiply<Left::as_is>(Product<T>{tile_.weights(), stride, tile_.out_gradient(), value_width,
                                             sums.values + at * value_width, value_width, count, sizes_.value_width,
                                             block.count, true});
        if (views_.key_gradient.defined())
            multiply<Left::as_is>(Product<T>{tile_.score_gradients(), stride, tile_.queries(), width,
                                             sums.keys + at * width, width, count, sizes_.width, block.count, true});
        if (views_.query_gradient.defined())
            multiply<Left::transposed>(Product<T>{tile_.score_gradients(), stride, tile_.keys(), width,
                                                  query_gradient_.data(), width, block.count, sizes_.width, count,
                                                  true});
    }

    void store_query_gradient(const QueryBlock& block) {
        for (std::int64_t i = 0; i < block.count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            T* row = query_gradient_.data() + i * tile_.width_stride();
            store_values(row, static_cast<T>(settings_.scale), sizes_.width, row,
                         row_address(views_.query_gradient, block.row, block.query[at], block.head[at]),
                         views_.query_gradient.dtype);
        }
    }

    const kernels::AttentionSettings& settings_;
    const kernels::AttentionBackward& views_;
    const AttentionSizes& sizes_;
    GradientTile<T> tile_;
    Scratch<T> query_gradient_;
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

template <class T>
class Backward {
   public:
    Backward(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views)
        : settings_(settings),
          views_(views),
          sizes_(views.query, views.key, views.value),
          cut_(sizes_),
          heads_(sizes_.rows * sizes_.key_heads),
          row_elements_(tile_stride<T>(sizes_.width) + tile_stride<T>(sizes_.value_width)) {}

    void run() {
        // With one task per key head its sums are stored as soon as it is done, and every core reuses its own buffer.
        const bool one_part = cut_.parts == 1;
        std::vector<KeySums<T>> sums(static_cast<std::size_t>(heads_ * cut_.parts));
        std::int64_t all_keys = 0;
        for (std::int64_t task = 0; task < heads_ * cut_.parts; ++task) {
            KeySums<T>& own = sums[static_cast<std::size_t>(task)];
            own.range = keys_of_part(settings_.mask, sizes_, cut_, task / cut_.parts, task % cut_.parts);
            if (!one_part) all_keys += own.range.end - own.range.begin;
        }
        const Scratch<T> shared(std::max<std::int64_t>(1, all_keys * row_elements_));
        std::int64_t at = 0;
        for (KeySums<T>& own : sums) {
            if (one_part) break;
            place(own, shared.data() + at * row_elements_);
            at += own.range.end - own.range.begin;
        }
        share_tasks(heads_ * cut_.parts, sizes_.worth_sharing(), [&](auto next) {
            BackwardBlock<T> block(settings_, views_, sizes_);
            const Scratch<T> own_buffer(one_part ? std::max<std::int64_t>(1, sizes_.keys * row_elements_) : 1);
            for (std::int64_t task = next(); task >= 0; task = next()) {
                // The last part of a head first: under a causal mask it has the most keys.
                const std::int64_t head = task / cut_.parts, part = cut_.parts - 1 - task % cut_.parts;
                KeySums<T> own = sums[static_cast<std::size_t>(head * cut_.parts + part)];
                if (one_part) place(own, own_buffer.data());
                run_part(block, head, part, own);
                if (one_part) store_keys({own}, head, {0, sizes_.keys});
            }
        });
        if (one_part) return;
        parallel_for(heads_ * sizes_.keys, 256, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t head = begin / sizes_.keys; head * sizes_.keys < end; ++head) {
                const auto first = sums.begin() + head * cut_.parts;
                store_keys({first, first + cut_.parts}, head,
                           {std::max<std::int64_t>(0, begin - head * sizes_.keys),
                            std::min(sizes_.keys, end - head * sizes_.keys)});
            }
        });
    }

   private:
    void place(KeySums<T>& own, T* buffer) const {
        own.keys = buffer;
        own.values = buffer + (own.range.end - own.range.begin) * tile_stride<T>(sizes_.width);
    }

    void run_part(BackwardBlock<T>& block, std::int64_t head, std::int64_t part, const KeySums<T>& own) const {
        std::fill_n(own.keys, (own.range.end - own.range.begin) * row_elements_, T(0));
        const std::int64_t begin = part * cut_.blocks_per_part;
        const std::int64_t end = std::min(sizes_.query_blocks(), begin + cut_.blocks_per_part);
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t first = i * query_block;
            block.run(QueryBlock(settings_.mask, sizes_, head / sizes_.key_heads, head % sizes_.key_heads, first,
                                 std::min(query_block, sizes_.query_rows() - first)),
                      own);
        }
    }

    void store_keys(const std::vector<KeySums<T>>& parts, std::int64_t head, kernels::KeyRange keys) const {
        const T factor = static_cast<T>(settings_.soft_cap > 0 ? settings_.soft_cap : log_of_2);
        const std::int64_t row = head / sizes_.key_heads, key_head = head % sizes_.key_heads;
        if (views_.key_gradient.defined())
            store_key_rows(parts, &KeySums<T>::keys, factor, sizes_.width, views_.key_gradient, row, key_head, keys);
        if (views_.value_gradient.defined())
            store_key_rows(parts, &KeySums<T>::values, T(1), sizes_.value_width, views_.value_gradient, row, key_head,
                           keys);
    }

    const kernels::AttentionSettings& settings_;
    const kernels::AttentionBackward& views_;
    AttentionSizes sizes_;
    BackwardCut cut_;
    std::int64_t heads_;
    std::int64_t row_elements_;
};

void attention_backward_f32(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views) {
    Backward<float>(settings, views).run();
}
void attention_backward_f64(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views) {
    Backward<double>(settings, views).run();
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
namespace {

HWY_EXPORT(attention_backward_f32);
HWY_EXPORT(attention_backward_f64);

void attention_backward_on_cpu(const kernels::AttentionSettings& settings, const kernels::AttentionBackward& views) {
    if (views.query.size(0) == 0) return;
    if (views.query.dtype == DType::F64)
        HWY_DYNAMIC_DISPATCH(attention_backward_f64)(settings, views);
    else
        HWY_DYNAMIC_DISPATCH(attention_backward_f32)(settings, views);
}

const Fill fill_backward{kernels::attention_backward, DeviceKind::CPU, attention_backward_on_cpu};

}  // namespace
}  // namespace tessera
#endif
