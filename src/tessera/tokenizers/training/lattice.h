// All ways to cut a word into tokens, weighed by the tokens' scores.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tessera/tokenizers/structures/trie.h"

namespace tessera::tokenizers {

class Lattice {
   public:
    static constexpr std::uint32_t unknown = Trie::none;

    // `scores` by the values of the trie. A character that no token begins with costs `unknown_score`.
    Lattice(const Trie& trie, std::span<const double> scores, double unknown_score)
        : trie_(trie), scores_(scores), unknown_score_(unknown_score) {}

    // Adds `weight` times how often each token is expected; gives the logarithm of the word's probability.
    double expect(std::string_view word, double weight, std::span<double> expected);
    // The tokens of the best way, not using `without`; empty where there is none. `score` takes its total.
    std::span<const std::uint32_t> best(std::string_view word, double& score, std::uint32_t without = unknown);

   private:
    struct Edge {
        std::uint32_t begin, end, token;
        double score;
    };

    void find_edges(std::string_view word, std::uint32_t without, bool with_unknown);  // from left to right

    const Trie& trie_;
    std::span<const double> scores_;
    double unknown_score_;
    std::vector<Edge> edges_;
    std::vector<double> forward_, backward_;
    std::vector<std::uint32_t> arrival_, path_;
};

}  // namespace tessera::tokenizers
