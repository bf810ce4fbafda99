#include "tokenizers/trie.h"

#include <utility>

namespace tessera::tokenizers {

Trie::Trie() : first_(256, none), edges_(64, Edge{empty_key, none}), values_(1, none), mask_(63) {}

void Trie::insert(std::uint64_t key, std::uint32_t node) {
    if (2 * (used_ + 1) > edges_.size()) {
        const std::vector<Edge> old =
            std::exchange(edges_, std::vector<Edge>(2 * edges_.size(), Edge{empty_key, none}));
        mask_ = edges_.size() - 1;
        used_ = 0;
        for (const Edge& edge : old)
            if (edge.key != empty_key) insert(edge.key, edge.node);
    }
    std::size_t slot = place(key);
    while (edges_[slot].key != empty_key) slot = (slot + 1) & mask_;
    edges_[slot] = {key, node};
    ++used_;
}

void Trie::add(std::string_view text, std::uint32_t value) {
    std::uint32_t node = root;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        std::uint32_t next = step(node, byte);
        if (next == none) {
            next = static_cast<std::uint32_t>(values_.size());
            values_.push_back(none);
            if (node == root)
                first_[byte] = next;
            else
                insert(static_cast<std::uint64_t>(node) << 8 | byte, next);
        }
        node = next;
    }
    values_[node] = value;
}

}  // namespace tessera::tokenizers
