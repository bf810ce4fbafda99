#include "tessera/tokenizers/structures/trie.h"

#include "tessera/core/error.h"

namespace tessera::tokenizers {

void Trie::link(std::uint32_t from, char byte, std::uint32_t to) {
    if (from == none)
        first_[static_cast<unsigned char>(byte)] = to;
    else
        edges_.set(from, static_cast<unsigned char>(byte), to);
}

// The first `length` bytes of a node's label become a node of their own before it.
std::uint32_t Trie::split(std::uint32_t from, std::uint32_t node, std::uint32_t length) {
    const auto middle = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({nodes_[node].label, length, none});
    link(from, labels_[nodes_[middle].label], middle);
    nodes_[node].label += length;
    nodes_[node].length -= length;
    link(middle, labels_[nodes_[node].label], node);
    return middle;
}

void Trie::add(std::string_view text, std::uint32_t value) {
    if (text.empty()) return;
    std::uint32_t from = none, node = first_[static_cast<unsigned char>(text[0])];
    while (node != none) {
        const std::string_view label(labels_.data() + nodes_[node].label, nodes_[node].length);
        const auto same = static_cast<std::size_t>(
            std::mismatch(label.begin(), label.end(), text.begin(), text.end()).first - label.begin());
        if (same < label.size()) node = split(from, node, static_cast<std::uint32_t>(same));
        text.remove_prefix(same);
        if (text.empty()) {
            nodes_[node].value = value;
            return;
        }
        from = node;
        node = edges_.find(from, static_cast<unsigned char>(text[0]));
    }
    check(labels_.size() + text.size() < none, "the texts of a tree are longer than 4 GB");
    nodes_.push_back({static_cast<std::uint32_t>(labels_.size()), static_cast<std::uint32_t>(text.size()), value});
    labels_ += text;
    link(from, text[0], static_cast<std::uint32_t>(nodes_.size() - 1));
}

}  // namespace tessera::tokenizers
