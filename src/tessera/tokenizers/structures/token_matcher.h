// Where tokens stand in a text. Walking a tree from every place is quickest for the tokens there are; where it takes
// too many steps, because long tokens begin everywhere and end nowhere, an automaton takes over, which is linear in the
// text.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/tokenizers/structures/automaton.h"
#include "tessera/tokenizers/structures/trie.h"

namespace tessera::tokenizers {

class TokenMatcher {
   public:
    // All tokens are added before any text is looked at.
    void add(std::string_view token, std::uint32_t value) {
        trie_.add(token, value);
        bytes_ += token.size();
    }
    const Trie& trie() const { return trie_; }
    bool empty() const { return bytes_ == 0; }

    // How many steps a text may take before the automaton is to be used.
    static std::size_t most_steps(std::string_view text) { return 64 * text.size() + (1 << 16); }

    const Automaton& forward() const { return made(forward_, false); }
    const Automaton& backward() const { return made(backward_, true); }  // of tokens and texts read from their end

   private:
    struct Lazy {
        std::once_flag once;
        std::unique_ptr<Automaton> automaton;
    };
    const Automaton& made(Lazy& lazy, bool reversed) const;

    Trie trie_;
    std::size_t bytes_ = 0;
    mutable Lazy forward_, backward_;
};

// The longest token that begins at a place of one text; places are asked for from left to right.
class LongestTokens {
   public:
    LongestTokens(const TokenMatcher& matcher, std::string_view text)
        : matcher_(matcher), text_(text), steps_left_(TokenMatcher::most_steps(text)) {}

    Trie::Match at(std::size_t place) {
        if (linear_) return found_at(place);
        Trie::Match match;
        const std::size_t steps = matcher_.trie().longest_prefix(text_.substr(place), match);
        if (steps > steps_left_) {
            find_all(place);
            return found_at(place);
        }
        steps_left_ -= steps;
        return match;
    }

   private:
    void find_all(std::size_t from);
    Trie::Match found_at(std::size_t place);

    struct Found {
        std::size_t place;
        Trie::Match match;
    };

    const TokenMatcher& matcher_;
    std::string_view text_;
    std::size_t steps_left_;
    bool linear_ = false;
    std::vector<Found> found_;  // from right to left
};

}  // namespace tessera::tokenizers
