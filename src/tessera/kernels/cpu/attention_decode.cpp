#include "tessera/kernels/cpu/attention_decode.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/attention_decode.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "tessera/kernels/cpu/attention_scores-inl.h"

#ifndef TESSERA_ATTENTION_FEW_CHUNK
#define TESSERA_ATTENTION_FEW_CHUNK
namespace tessera::kernels::cpu {
// Keys are cut into chunks of this many, each a task, so that a single head fills all cores too.
constexpr std::int64_t few_chunk = 512;
}  // namespace tessera::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Where the rows of one head lie far apart the hardware does not look ahead: ask for a row some keys before it is due.
template <class In>
HWY_INLINE void prefetch_ahead(const In* row, std::int64_t stride, std::int64_t length) {
    constexpr std::int64_t rows_ahead = 12, line = 64 / sizeof(In);
    if (stride < 16 * line) return;
    for (std::int64_t i = 0; i < length; i += line) hwy::Prefetch(row + rows_ahead * stride + i);
}

// scores[row] = queries[row] · key for `rows` rows.
template <int rows, class T, class In>
HWY_INLINE void dot_rows(const T* queries, std::int64_t query_stride, const In* key, std::int64_t width, T* scores,
                         std::int64_t score_stride) {
    const hn::ScalableTag<T> d;
    hn::Vec<decltype(d)> sum[rows];
#pragma GCC unroll 4
    for (int row = 0; row < rows; ++row) sum[row] = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + lane_count<T>() <= width; i += lane_count<T>()) {
        const auto value = load_vector(d, key + i);
#pragma GCC unroll 4
        for (int row = 0; row < rows; ++row)
            sum[row] = hn::MulAdd(hn::Load(d, queries + row * query_stride + i), value, sum[row]);
    }
#pragma GCC unroll 4
    for (int row = 0; row < rows; ++row) {
        T total = hn::GetLane(hn::SumOfLanes(d, sum[row]));
        for (std::int64_t j = i; j < width; ++j) total += queries[row * query_stride + j] * convert<In, T>(key[j]);
        scores[row * score_stride] = total;
    }
}

// Adds Σ weight[row][key] · values[key] to `vectors` vectors of out[row], all sums in registers.
template <int rows, int vectors, class T, class In>
HWY_INLINE void add_values(const T* weights, std::int64_t weight_stride, const In* values, std::int64_t value_stride,
                           std::int64_t count, T* out, std::int64_t out_stride) {
    const hn::ScalableTag<T> d;
    hn::Vec<decltype(d)> sum[rows][vectors];
#pragma GCC unroll 4
    for (int row = 0; row < rows; ++row)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) sum[row][v] = hn::Zero(d);
    for (std::int64_t key = 0; key < count; ++key) {
        prefetch_ahead(values + key * value_stride, value_stride, vectors * lane_count<T>());
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) {
            const auto value = load_vector(d, values + key * value_stride + v * lane_count<T>());
#pragma GCC unroll 4
            for (int row = 0; row < rows; ++row)
                sum[row][v] = hn::MulAdd(hn::Set(d, weights[row * weight_stride + key]), value, sum[row][v]);
        }
    }
#pragma GCC unroll 4
    for (int row = 0; row < rows; ++row)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) hn::Store(sum[row][v], d, out + row * out_stride + v * lane_count<T>());
}

// Calls f.template operator()<n>(first row) for groups of n = 4 rows, then for the rest one by one.
template <class F>
HWY_INLINE void in_groups(std::int64_t rows, F&& f) {
    std::int64_t row = 0;
    for (; row + 4 <= rows; row += 4) f.template operator()<4>(row);
    for (; row < rows; ++row) f.template operator()<1>(row);
}

// What one chunk of keys gives for one query row: the largest score, the sum of the weights relative to it, and (apart)
// the sum of the values with these weights.
template <class T>
struct ChunkSums {
    T maximum, sum;
};

template <class T, class In>
class FewChunk {
   public:
    FewChunk(const kernels::AttentionSettings& settings, const kernels::AttentionForward& views,
             const AttentionSizes& sizes)
        : settings_(settings),
          views_(views),
          sizes_(sizes),
          width_stride_(tile_stride<T>(sizes.width)),
          queries_(few_rows * width_stride_),
          scores_(few_rows * few_chunk),
          bias_(few_chunk) {}

    // The keys [first, first + count) for all rows of the block, whose range lies in block.any.
    void run(const QueryBlock& block, std::int64_t first, std::int64_t count, ChunkSums<T>* sums, T* out,
             std::int64_t out_stride) {
        const double factor = settings_.soft_cap > 0 ? settings_.scale / settings_.soft_cap : settings_.scale * log2_e;
        for (std::int64_t row = 0; row < block.count; ++row) {
            const auto at = static_cast<std::size_t>(row);
            load_rows(row_address(views_.query, block.row, block.query[at], block.head[at]), views_.query.dtype, 0, 1,
                      sizes_.width, static_cast<T>(factor), queries_.data() + row * width_stride_, width_stride_);
        }
        score(block, first, count);
        for (std::int64_t row = 0; row < block.count; ++row) {
            adjust(block, row, first, count);
            sums[row] = take_weights(scores_.data() + row * few_chunk, count);
        }
        add_all_values(block, first, count, out, out_stride);
    }

   private:
    using D = hn::ScalableTag<T>;

    void score(const QueryBlock& block, std::int64_t first, std::int64_t count) {
        const In* key = reinterpret_cast<const In*>(row_address(views_.key, block.row, first, block.key_head));
        for (std::int64_t i = 0; i < count; ++i, key += views_.key.strides[1]) {
            prefetch_ahead(key, views_.key.strides[1], sizes_.width);
            in_groups(block.count, [&]<int rows>(std::int64_t row) {
                dot_rows<rows>(queries_.data() + row * width_stride_, width_stride_, key, sizes_.width,
                               scores_.data() + row * few_chunk + i, few_chunk);
            });
        }
    }

    void adjust(const QueryBlock& block, std::int64_t row, std::int64_t first, std::int64_t count) {
        const D d;
        const auto at = static_cast<std::size_t>(row);
        T* scores = scores_.data() + row * few_chunk;
        if (settings_.soft_cap > 0) {
            const auto cap = hn::Set(d, static_cast<T>(settings_.soft_cap * log2_e));
            for (std::int64_t i = 0; i < count; i += lane_count<T>())
                hn::Store(hn::Mul(cap, hn::Tanh(d, hn::Load(d, scores + i))), d, scores + i);
        }
        if (settings_.slopes.defined()) {
            const T slope = static_cast<T>(settings_.slopes.as<const float>()[block.head[at]] * log2_e);
            const std::int64_t position = settings_.mask.position(block.row, block.query[at]);
            for (std::int64_t i = 0; i < count; ++i) scores[i] += slope * static_cast<T>(first + i - position);
        }
        if (settings_.bias.defined()) {
            load_bias_row(settings_.bias, block, row, first, count, bias_.data());
            for (std::int64_t i = 0; i < count; ++i) scores[i] += bias_.data()[i];
        }
        const T hidden = -std::numeric_limits<T>::infinity();
        const std::int64_t begin = std::clamp<std::int64_t>(block.range[at].begin - first, 0, count);
        const std::int64_t end = std::clamp<std::int64_t>(block.range[at].end - first, begin, count);
        std::fill(scores, scores + begin, hidden);
        std::fill(scores + end, scores + few_chunk, hidden);
        if (!settings_.mask.hidden_keys) return;
        for (std::int64_t i = 0; i < count; ++i)
            if (settings_.mask.hidden_keys[block.row * sizes_.keys + first + i]) scores[i] = hidden;
    }

    ChunkSums<T> take_weights(T* scores, std::int64_t count) const {
        const D d;
        auto largest = hn::Set(d, static_cast<T>(no_score));
        for (std::int64_t i = 0; i < count; i += lane_count<T>()) largest = hn::Max(largest, hn::Load(d, scores + i));
        const auto maximum = hn::MaxOfLanes(d, largest);
        auto sum = hn::Zero(d);
        for (std::int64_t i = 0; i < count; i += lane_count<T>()) {
            const auto weight = exp2_of_negative(d, hn::Sub(hn::Load(d, scores + i), maximum));
            hn::Store(weight, d, scores + i);
            sum = hn::Add(sum, weight);
        }
        return {hn::GetLane(maximum), hn::GetLane(hn::SumOfLanes(d, sum))};
    }

    void add_all_values(const QueryBlock& block, std::int64_t first, std::int64_t count, T* out,
                        std::int64_t out_stride) const {
        const In* values = reinterpret_cast<const In*>(row_address(views_.value, block.row, first, block.key_head));
        const std::int64_t stride = views_.value.strides[1], lanes = lane_count<T>();
        in_groups(block.count, [&]<int rows>(std::int64_t row) {
            const T* weights = scores_.data() + row * few_chunk;
            T* to = out + row * out_stride;
            std::int64_t column = 0;
            for (; column + 4 * lanes <= sizes_.value_width; column += 4 * lanes)
                add_values<rows, 4>(weights, few_chunk, values + column, stride, count, to + column, out_stride);
            for (; column + lanes <= sizes_.value_width; column += lanes)
                add_values<rows, 1>(weights, few_chunk, values + column, stride, count, to + column, out_stride);
            for (; column < sizes_.value_width; ++column)
                for (int i = 0; i < rows; ++i) {
                    T sum = 0;
                    for (std::int64_t key = 0; key < count; ++key)
                        sum += weights[i * few_chunk + key] * convert<In, T>(values[key * stride + column]);
                    to[i * out_stride + column] = sum;
                }
        });
    }

    const kernels::AttentionSettings& settings_;
    const kernels::AttentionForward& views_;
    const AttentionSizes& sizes_;
    std::int64_t width_stride_;
    Scratch<T> queries_, scores_, bias_;
};

// Puts a row's chunks together in order, and stores it.
template <class T>
void combine_chunks(const kernels::AttentionForward& views, const AttentionSizes& sizes, const QueryBlock& block,
                    std::int64_t row, const ChunkSums<T>* sums, T* outs, std::int64_t out_stride, std::int64_t chunks) {
    T maximum = static_cast<T>(no_score), sum = 0;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) maximum = std::max(maximum, sums[chunk * few_rows].maximum);
    T* total = outs;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        const T share = std::exp2(sums[chunk * few_rows].maximum - maximum);
        sum += share * sums[chunk * few_rows].sum;
        const T* from = outs + chunk * few_rows * out_stride;
        for (std::int64_t i = 0; i < sizes.value_width; ++i) total[i] = (chunk ? total[i] : T(0)) + share * from[i];
    }
    const auto at = static_cast<std::size_t>(row);
    views.log_sum.as<T>()[block.log_sum_index(sizes, row)] =
        sum == T(0) ? -std::numeric_limits<T>::infinity() : static_cast<T>((maximum + std::log2(sum)) * log_of_2);
    store_values(total, sum == T(0) ? T(0) : 1 / sum, sizes.value_width, total,
                 row_address(views.out, block.row, block.query[at], block.head[at]), views.out.dtype);
}

template <class T, class In>
void few(const kernels::AttentionSettings& settings, const kernels::AttentionForward& views) {
    const AttentionSizes sizes(views.query, views.key, views.value);
    const std::int64_t heads = sizes.rows * sizes.key_heads, out_stride = tile_stride<T>(sizes.value_width);
    const std::int64_t chunks = std::max<std::int64_t>(1, (sizes.keys + few_chunk - 1) / few_chunk);
    const Scratch<ChunkSums<T>> sums(heads * chunks * few_rows);
    const Scratch<T> outs(heads * chunks * few_rows * out_stride);
    const auto block_of = [&](std::int64_t head) {
        return QueryBlock(settings.mask, sizes, head / sizes.key_heads, head % sizes.key_heads, 0, sizes.query_rows());
    };
    const std::int64_t elements_read = heads * sizes.keys * (sizes.width + sizes.value_width);
    share_tasks(heads * chunks, elements_read > 1 << 17, [&](auto next) {
        FewChunk<T, In> worker(settings, views, sizes);
        for (std::int64_t task = next(); task >= 0; task = next()) {
            // All heads of a chunk one after the other: they lie side by side in memory.
            const std::int64_t head = task % heads, chunk = task / heads, at = (head * chunks + chunk) * few_rows;
            const QueryBlock block = block_of(head);
            const std::int64_t first = block.any.begin + chunk * few_chunk;
            const std::int64_t count = std::clamp<std::int64_t>(block.any.end - first, 0, few_chunk);
            worker.run(block, first, count, sums.data() + at, outs.data() + at * out_stride, out_stride);
        }
    });
    for (std::int64_t head = 0; head < heads; ++head) {
        const QueryBlock block = block_of(head);
        for (std::int64_t row = 0; row < block.count; ++row) {
            const std::int64_t at = head * chunks * few_rows + row;
            combine_chunks(views, sizes, block, row, sums.data() + at, outs.data() + at * out_stride, out_stride,
                           chunks);
        }
    }
}

void attention_decode(const kernels::AttentionSettings& settings, const kernels::AttentionForward& views) {
    switch (views.query.dtype) {
        case DType::F64: return few<double, double>(settings, views);
        case DType::BF16: return few<float, BFloat16>(settings, views);
        case DType::F16: return few<float, Float16>(settings, views);
        default: return few<float, float>(settings, views);
    }
}

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {

HWY_EXPORT(attention_decode);

void attention_of_few(const kernels::AttentionSettings& settings, const kernels::AttentionForward& views) {
    HWY_DYNAMIC_DISPATCH(attention_decode)(settings, views);
}

}  // namespace tessera::kernels::cpu
#endif
