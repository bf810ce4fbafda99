// Which two neighbours merge, into what, and how early: a hash table with open addressing.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "tessera/tokenizers/structures/hash.h"

namespace tessera::tokenizers {

struct MergeRule {
    std::uint32_t rank = never;  // the lower, the earlier
    std::uint32_t merged = 0;    // the id they become

    static constexpr std::uint32_t never = 0xFFFFFFFFu;
};

class MergeTable {
   public:
    explicit MergeTable(std::size_t rules) : slots_(std::bit_ceil(2 * rules + 16)), mask_(slots_.size() - 1) {}

    // The same pair again takes the later rule. No more rules than were announced.
    void add(std::uint32_t left, std::uint32_t right, MergeRule rule) {
        const std::uint64_t key = key_of(left, right);
        std::size_t slot = place(key);
        while (slots_[slot].rule.rank != MergeRule::never && slots_[slot].key != key) slot = (slot + 1) & mask_;
        slots_[slot] = {key, rule};
    }

    MergeRule find(std::uint32_t left, std::uint32_t right) const {
        const std::uint64_t key = key_of(left, right);
        for (std::size_t slot = place(key);; slot = (slot + 1) & mask_)
            if (slots_[slot].key == key || slots_[slot].rule.rank == MergeRule::never) return slots_[slot].rule;
    }

   private:
    struct Slot {
        std::uint64_t key = ~std::uint64_t{0};
        MergeRule rule = {};
    };

    static std::uint64_t key_of(std::uint32_t left, std::uint32_t right) {
        return static_cast<std::uint64_t>(left) << 32 | right;
    }
    std::size_t place(std::uint64_t key) const { return hash_of(key) & mask_; }

    std::vector<Slot> slots_;
    std::size_t mask_;
};

}  // namespace tessera::tokenizers
