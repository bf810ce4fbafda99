#include "tessera/tokenizers/structures/token_matcher.h"

#include <algorithm>

#include "tessera/core/error.h"
#include "tessera/tokenizers/limits.h"

namespace tessera::tokenizers {

const Automaton& TokenMatcher::made(Lazy& lazy, bool reversed) const {
    std::call_once(lazy.once, [&] {
        check(bytes_ <= limits::most_automaton_bytes, "tokenizer: ", bytes_,
              " bytes of tokens are too many to look for in a text in which so many of them begin; the limit is ",
              limits::most_automaton_bytes);
        std::vector<std::pair<std::string, std::uint32_t>> tokens;
        trie_.for_each([&](std::string_view token, std::uint32_t value) {
            tokens.emplace_back(token, value);
            if (reversed) std::reverse(tokens.back().first.begin(), tokens.back().first.end());
        });
        lazy.automaton = std::make_unique<Automaton>(tokens);
    });
    return *lazy.automaton;
}

// Read from its end, a text meets the ends of tokens where they begin.
void LongestTokens::find_all(std::size_t from) {
    const Automaton& automaton = matcher_.backward();
    std::uint32_t state = Automaton::root;
    for (std::size_t at = text_.size(); at-- > from;) {
        state = automaton.step(state, text_[at]);
        automaton.for_each_end(state, [&](std::size_t length, std::uint32_t value) {
            found_.push_back({at, {length, value}});
            return false;
        });
    }
    linear_ = true;
}

Trie::Match LongestTokens::found_at(std::size_t place) {
    while (!found_.empty() && found_.back().place < place) found_.pop_back();
    return !found_.empty() && found_.back().place == place ? found_.back().match : Trie::Match{};
}

}  // namespace tessera::tokenizers
