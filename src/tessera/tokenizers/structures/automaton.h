// Which of a set of texts end at each place of another (Aho & Corasick 1975), in time linear in it and in the matches,
// whatever the texts are. Takes far more memory than a Trie, so it is made only for texts that need it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/tokenizers/structures/edge_table.h"

namespace tessera::tokenizers {

class Automaton {
   public:
    static constexpr std::uint32_t none = EdgeTable::none, root = 0;

    explicit Automaton(const std::vector<std::pair<std::string, std::uint32_t>>& texts);

    std::uint32_t step(std::uint32_t state, char byte) const;
    // Calls use(length, value) for all that end at this state, the longest first, while it answers true.
    template <class Use>
    void for_each_end(std::uint32_t state, Use use) const {
        for (std::uint32_t at = ends_[state]; at != none; at = ends_[nodes_[at].shorter])
            if (!use(nodes_[at].depth, nodes_[at].value)) return;
    }

   private:
    struct Node {
        std::uint32_t depth, value;
        std::uint32_t shorter;  // the longest beginning of a text that is an end of this one
    };

    EdgeTable edges_;
    std::vector<Node> nodes_;
    std::vector<std::uint32_t> ends_;  // the node itself if a text ends there, else that of the shorter one
};

}  // namespace tessera::tokenizers
