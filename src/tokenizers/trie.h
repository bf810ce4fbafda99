// A tree of texts, byte by byte: which of them begin at a place. Edges lie in one hash table.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera::tokenizers {

class Trie {
   public:
    static constexpr std::uint32_t root = 0, none = 0xFFFFFFFFu;

    Trie();
    void add(std::string_view text, std::uint32_t value);  // the same text again takes the new value

    // The node past this byte; `none` where no text goes on so.
    std::uint32_t step(std::uint32_t node, unsigned char byte) const {
        if (node == root) return first_[byte];
        const std::uint64_t key = static_cast<std::uint64_t>(node) << 8 | byte;
        for (std::size_t slot = place(key);; slot = (slot + 1) & mask_) {
            if (edges_[slot].key == key) return edges_[slot].node;
            if (edges_[slot].key == empty_key) return none;
        }
    }
    std::uint32_t value(std::uint32_t node) const { return values_[node]; }  // `none` where no text ends

   private:
    static constexpr std::uint64_t empty_key = ~std::uint64_t{0};
    struct Edge {
        std::uint64_t key;
        std::uint32_t node;
    };

    std::size_t place(std::uint64_t key) const { return (key * 0x9E3779B97F4A7C15u >> 20) & mask_; }
    void insert(std::uint64_t key, std::uint32_t node);

    std::vector<std::uint32_t> first_;  // the root's edges: 256 of them
    std::vector<Edge> edges_;           // a power of two, at most half full
    std::vector<std::uint32_t> values_;
    std::size_t mask_ = 0, used_ = 0;
};

}  // namespace tessera::tokenizers
