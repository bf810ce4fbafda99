// A tree of texts: which of them begin at a place. What only one way leads through is one node with a label, so that
// nodes are at most twice as many as texts, however long these are.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/tokenizers/structures/edge_table.h"

namespace tessera::tokenizers {

class Trie {
   public:
    static constexpr std::uint32_t none = EdgeTable::none;

    Trie() { first_.fill(none); }
    void add(std::string_view text, std::uint32_t value);  // the same text again takes the new value; an empty one none

    bool any_begins_with(char byte) const { return first_[static_cast<unsigned char>(byte)] != none; }

    // Calls use(length, value) for each of the texts that `text` begins with, the shortest first. Returns how many
    // bytes were looked at.
    template <class Use>
    std::size_t for_each_prefix(std::string_view text, Use use) const {
        if (text.empty()) return 0;
        std::size_t at = 0;
        for (std::uint32_t next = first_[static_cast<unsigned char>(text[0])]; next != none;) {
            const Node& node = nodes_[next];
            const std::size_t end = at + node.length;
            const char* label = labels_.data() + node.label;
            for (++at, ++label; at < std::min(end, text.size()) && text[at] == *label;) ++at, ++label;
            if (at < end) return at;
            if (node.value != none) use(end, node.value);
            if (end == text.size()) return end;
            next = edges_.find(next, static_cast<unsigned char>(text[at]));
        }
        return at + 1;
    }

    struct Match {
        std::size_t length = 0;  // 0: none
        std::uint32_t value = none;
    };
    std::size_t longest_prefix(std::string_view text, Match& match) const {
        return for_each_prefix(text, [&](std::size_t length, std::uint32_t value) { match = {length, value}; });
    }

    // Calls use(text, value) for every text, in no order.
    template <class Use>
    void for_each(Use use) const {
        std::vector<std::uint32_t> parents(nodes_.size(), none);
        edges_.for_each([&](std::uint32_t node, std::uint32_t to) { parents[to] = node; });
        std::string text;
        std::vector<std::uint32_t> path;
        for (std::uint32_t end = 0; end < nodes_.size(); ++end) {
            if (nodes_[end].value == none) continue;
            path.clear();
            for (std::uint32_t node = end; node != none; node = parents[node]) path.push_back(node);
            text.clear();
            for (auto node = path.rbegin(); node != path.rend(); ++node)
                text.append(labels_, nodes_[*node].label, nodes_[*node].length);
            use(std::string_view(text), nodes_[end].value);
        }
    }

   private:
    struct Node {
        std::uint32_t label, length;  // within labels_; what leads to this node
        std::uint32_t value;          // `none` where no text ends
    };

    void link(std::uint32_t from, char byte, std::uint32_t to);
    std::uint32_t split(std::uint32_t from, std::uint32_t node, std::uint32_t length);

    std::array<std::uint32_t, 256> first_{};  // the nodes at which texts begin, by their first byte
    std::vector<Node> nodes_;
    EdgeTable edges_;
    std::string labels_;
};

}  // namespace tessera::tokenizers
