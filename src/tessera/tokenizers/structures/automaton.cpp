#include "tessera/tokenizers/structures/automaton.h"

#include <algorithm>

namespace tessera::tokenizers {

Automaton::Automaton(const std::vector<std::pair<std::string, std::uint32_t>>& texts) : nodes_{{0, none, root}} {
    struct Way {  // to a node
        std::uint32_t from;
        char byte;
    };
    std::vector<Way> ways = {{root, '\0'}};
    for (const auto& [text, value] : texts) {
        std::uint32_t node = root;
        for (const char byte : text) {
            std::uint32_t next = edges_.find(node, static_cast<unsigned char>(byte));
            if (next == none) {
                next = static_cast<std::uint32_t>(nodes_.size());
                edges_.set(node, static_cast<unsigned char>(byte), next);
                nodes_.push_back({nodes_[node].depth + 1, none, root});
                ways.push_back({node, byte});
            }
            node = next;
        }
        nodes_[node].value = value;
    }
    // What is shorter is known first.
    std::vector<std::uint32_t> order(nodes_.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return nodes_[a].depth < nodes_[b].depth; });
    ends_.assign(nodes_.size(), none);
    for (const std::uint32_t node : order) {
        if (nodes_[node].depth > 1) nodes_[node].shorter = step(nodes_[ways[node].from].shorter, ways[node].byte);
        ends_[node] = nodes_[node].value != none ? node : ends_[nodes_[node].shorter];
    }
}

std::uint32_t Automaton::step(std::uint32_t state, char byte) const {
    while (true) {
        const std::uint32_t next = edges_.find(state, static_cast<unsigned char>(byte));
        if (next != none) return next;
        if (state == root) return root;
        state = nodes_[state].shorter;
    }
}

}  // namespace tessera::tokenizers
