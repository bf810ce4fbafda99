// How attention is cut into tasks: by shape and mask alone, so the bits do not depend on the thread count. A task is a
// part of the query blocks of one key head.
#pragma once

#include "tessera/kernels/cpu/attention_problem.h"

namespace tessera::kernels::cpu {

struct AttentionCut {
    std::int64_t heads;            // key heads of all rows
    std::int64_t parts;            // tasks for each key head
    std::int64_t blocks_per_part;  // query blocks of a task

    AttentionCut(const AttentionSizes& sizes, std::int64_t blocks_per_part)
        : heads(sizes.rows * sizes.key_heads),
          parts((sizes.query_blocks() + blocks_per_part - 1) / blocks_per_part),
          blocks_per_part(blocks_per_part) {}

    std::int64_t tasks() const { return heads * parts; }
    std::int64_t head_of(std::int64_t task) const { return task / parts; }
    // The last part of a head first: under a causal mask it has the most keys, and short tasks even out the end.
    std::int64_t part_of(std::int64_t task) const { return parts - 1 - task % parts; }
    // The query rows of a part, of one key head.
    kernels::KeyRange query_rows(const AttentionSizes& sizes, std::int64_t part) const {
        const std::int64_t begin = part * blocks_per_part * query_block;
        return {begin, std::min(sizes.query_rows(), begin + blocks_per_part * query_block)};
    }
};

// The keys that the queries of a part see.
inline kernels::KeyRange keys_of_part(const kernels::KeyMask& mask, const AttentionSizes& sizes,
                                      const AttentionCut& cut, std::int64_t head, std::int64_t part) {
    const kernels::KeyRange rows = cut.query_rows(sizes, part);
    kernels::KeyRange seen{sizes.keys, 0};
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
        const kernels::KeyRange range =
            mask.range(head / sizes.key_heads, i % sizes.queries, sizes.queries, sizes.keys);
        if (range.begin == range.end) continue;
        seen = {std::min(seen.begin, range.begin), std::max(seen.end, range.end)};
    }
    return seen.begin < seen.end ? seen : kernels::KeyRange{0, 0};
}

}  // namespace tessera::kernels::cpu
