// The edges of a tree whose nodes are numbers: a hash table with open addressing from a node and a byte to a node.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/tokenizers/structures/hash.h"

namespace tessera::tokenizers {

class EdgeTable {
   public:
    static constexpr std::uint32_t none = 0xFFFFFFFFu;

    EdgeTable() : edges_(64), mask_(63) {}

    std::uint32_t find(std::uint32_t node, unsigned char byte) const {
        const Edge& edge = edges_[slot_of(key_of(node, byte))];
        return edge.to;
    }
    // The same edge again takes the new end.
    void set(std::uint32_t node, unsigned char byte, std::uint32_t to) {
        if (2 * (used_ + 1) > edges_.size()) {
            const std::vector<Edge> old = std::exchange(edges_, std::vector<Edge>(2 * edges_.size()));
            mask_ = edges_.size() - 1;
            for (const Edge& edge : old)
                if (edge.to != none) edges_[slot_of(edge.key)] = edge;
        }
        Edge& edge = edges_[slot_of(key_of(node, byte))];
        used_ += edge.to == none;
        edge = {key_of(node, byte), to};
    }
    template <class Use>
    void for_each(Use use) const {  // use(node, to), in no order
        for (const Edge& edge : edges_)
            if (edge.to != none) use(static_cast<std::uint32_t>(edge.key >> 8), edge.to);
    }

   private:
    struct Edge {
        std::uint64_t key = 0;
        std::uint32_t to = none;
    };

    static std::uint64_t key_of(std::uint32_t node, unsigned char byte) {
        return static_cast<std::uint64_t>(node) << 8 | byte;
    }
    // Where the edge is, or would be.
    std::size_t slot_of(std::uint64_t key) const {
        std::size_t slot = hash_of(key) & mask_;
        while (edges_[slot].to != none && edges_[slot].key != key) slot = (slot + 1) & mask_;
        return slot;
    }

    std::vector<Edge> edges_;  // a power of two, at most half full
    std::size_t mask_, used_ = 0;
};

}  // namespace tessera::tokenizers
