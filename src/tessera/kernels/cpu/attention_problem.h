// The shape of an attention call, and how it is cut. The query rows of one key head (its group of query heads, one
// after the other, each with all its queries) are cut into blocks of up to query_block rows. A block walks the keys
// that any of its rows may see, key_block at a time. The cut depends on shapes and masks alone, so the bits do not
// depend on the thread count.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>

#include "tessera/core/parallel.h"
#include "tessera/kernels/attention.h"
#include "tessera/kernels/cpu/scratch.h"

namespace tessera::kernels::cpu {

constexpr std::int64_t query_block = 64;
constexpr std::int64_t key_block = 128;

struct AttentionSizes {
    std::int64_t rows, queries, keys, heads, key_heads, group, width, value_width;

    AttentionSizes(const View& query, const View& key, const View& value)
        : rows(query.size(0)),
          queries(query.size(1)),
          keys(key.size(1)),
          heads(query.size(2)),
          key_heads(key.size(2)),
          group(heads / key_heads),
          width(query.size(3)),
          value_width(value.size(3)) {}

    // Work that is done before a second core would have woken up is left to one.
    bool worth_sharing() const { return rows * heads * queries * keys * (width + value_width) > 1 << 20; }
    std::int64_t query_rows() const { return group * queries; }  // of one key head
    std::int64_t query_blocks() const { return (query_rows() + query_block - 1) / query_block; }
};

struct QueryBlock {
    std::int64_t row = 0, key_head = 0;
    std::int64_t count = 0;                             // rows of the block
    std::array<std::int64_t, query_block> head, query;  // of each row
    std::array<kernels::KeyRange, query_block> range;   // what each row sees; empty beyond count
    kernels::KeyRange any{0, 0}, all{0, 0};             // the keys that any row sees, and those that all see

    QueryBlock() = default;
    // The query rows [first, first + count) of a key head.
    QueryBlock(const kernels::KeyMask& mask, const AttentionSizes& sizes, std::int64_t row, std::int64_t key_head,
               std::int64_t first, std::int64_t count)
        : row(row), key_head(key_head), count(count) {
        any = {std::numeric_limits<std::int64_t>::max(), 0};
        all = {0, std::numeric_limits<std::int64_t>::max()};
        for (std::int64_t i = 0; i < query_block; ++i) {
            const auto at = static_cast<std::size_t>(i);
            range[at] = {0, 0};
            if (i >= count) continue;
            head[at] = key_head * sizes.group + (first + i) / sizes.queries;
            query[at] = (first + i) % sizes.queries;
            range[at] = mask.range(row, query[at], sizes.queries, sizes.keys);
            all = {std::max(all.begin, range[at].begin), std::min(all.end, range[at].end)};
            if (range[at].begin == range[at].end) continue;
            any = {std::min(any.begin, range[at].begin), std::max(any.end, range[at].end)};
        }
        if (any.begin >= any.end) any = {0, 0};
    }

    // The keys of [first, first + count) that any of the rows [begin, end) sees, counted from `first`.
    kernels::KeyRange keys_of(std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t count) const {
        kernels::KeyRange seen{first + count, first};
        for (std::int64_t i = begin; i < std::min(end, this->count); ++i) {
            const kernels::KeyRange own = range[static_cast<std::size_t>(i)];
            if (own.begin == own.end) continue;
            seen = {std::min(seen.begin, own.begin), std::max(seen.end, own.end)};
        }
        seen = {std::max(seen.begin, first), std::min(seen.end, first + count)};
        return seen.begin < seen.end ? kernels::KeyRange{seen.begin - first, seen.end - first}
                                     : kernels::KeyRange{0, 0};
    }

    // From the first to the last row that sees any of the keys [begin, end).
    kernels::KeyRange rows_of(std::int64_t begin, std::int64_t end) const {
        kernels::KeyRange rows{count, 0};
        for (std::int64_t i = 0; i < count; ++i) {
            const kernels::KeyRange own = range[static_cast<std::size_t>(i)];
            if (own.begin < end && own.end > begin) rows = {std::min(rows.begin, i), i + 1};
        }
        return rows.begin < rows.end ? rows : kernels::KeyRange{0, 0};
    }

    // Whether every row sees all of the keys [first, first + count).
    bool sees_all(std::int64_t first, std::int64_t count) const {
        return first >= all.begin && first + count <= all.end;
    }

    std::int64_t log_sum_index(const AttentionSizes& sizes, std::int64_t i) const {
        const auto at = static_cast<std::size_t>(i);
        return (row * sizes.heads + head[at]) * sizes.queries + query[at];
    }
};

// The start of a row of a rank-4 view.
inline std::byte* row_address(const View& view, std::int64_t i, std::int64_t j, std::int64_t k) {
    const std::int64_t offset = i * view.strides[0] + j * view.strides[1] + k * view.strides[2];
    return static_cast<std::byte*>(view.data) + offset * info(view.dtype).block_bytes;
}

// Runs body(next) on every core; next() hands out 0 … count − 1, then −1. Tasks differ in length (a causal block near
// the end has the most keys), so whoever is free takes the next one.
template <class Body>
void share_tasks(std::int64_t count, bool worth_sharing, Body&& body) {
    std::atomic<std::int64_t> taken{0};
    const auto next = [&]() -> std::int64_t {
        const std::int64_t task = taken.fetch_add(1, std::memory_order_relaxed);
        return task < count ? task : -1;
    };
    const std::int64_t workers = worth_sharing ? std::min<std::int64_t>(thread_count(), count) : 1;
    parallel_for(workers, 1, [&](std::int64_t, std::int64_t) { body(next); });
}

// Elements between the rows of a tile: whole cache lines, and an odd number of them, so that a column of a tile spreads
// over all sets of the first-level cache.
template <class T>
constexpr std::int64_t tile_stride(std::int64_t width) {
    constexpr std::int64_t line = 64 / sizeof(T);
    return ((width + line - 1) / line | 1) * line;
}

}  // namespace tessera::kernels::cpu
