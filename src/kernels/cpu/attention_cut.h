// How attention backward is cut into tasks: by shape and mask alone, so the bits do not depend on the thread count.
#pragma once

#include "kernels/cpu/attention_problem.h"

namespace tessera {

struct BackwardCut {
    std::int64_t parts;            // tasks for each key head
    std::int64_t blocks_per_part;  // query blocks of a task

    explicit BackwardCut(const AttentionSizes& sizes) {
        constexpr std::int64_t enough_tasks = 8, least_blocks = 4;
        const std::int64_t heads = sizes.rows * sizes.key_heads, blocks = sizes.query_blocks();
        const std::int64_t wanted = (enough_tasks + heads - 1) / heads;
        blocks_per_part = std::max(least_blocks, (blocks + wanted - 1) / wanted);
        parts = (blocks + blocks_per_part - 1) / blocks_per_part;
    }
};

// The keys that a task's queries see.
inline kernels::KeyRange keys_of_part(const kernels::KeyMask& mask, const AttentionSizes& sizes, const BackwardCut& cut,
                                      std::int64_t key_head, std::int64_t part) {
    const std::int64_t begin = part * cut.blocks_per_part * query_block;
    const std::int64_t end = std::min(sizes.query_rows(), begin + cut.blocks_per_part * query_block);
    kernels::KeyRange seen{sizes.keys, 0};
    for (std::int64_t i = begin; i < end; ++i) {
        const kernels::KeyRange range =
            mask.range(key_head / sizes.key_heads, i % sizes.queries, sizes.queries, sizes.keys);
        if (range.begin == range.end) continue;
        seen = {std::min(seen.begin, range.begin), std::max(seen.end, range.end)};
    }
    return seen.begin < seen.end ? seen : kernels::KeyRange{0, 0};
}

}  // namespace tessera
