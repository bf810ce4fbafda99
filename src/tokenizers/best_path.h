// Of all ways to cut a text into tokens, the one of the highest total score (Viterbi 1967): for each place the last
// token of the best way to cut what ends there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "tokenizers/text_work.h"
#include "tokenizers/token_matcher.h"
#include "tokenizers/utf8.h"

namespace tessera::tokenizers {

template <class Score>
struct BestCut {
    static constexpr std::uint32_t nowhere = 0xFFFFFFFFu;

    Score score = 0;
    std::uint32_t id = 0, begin = nowhere;
};

// `total(so_far, id, length)`: the score with one token more, or nothing where it does not count. `unknown(so_far)`:
// the score and id where no token is the one character that stands there. Of equal scores the earliest beginning wins.
template <class Score, class Total, class Unknown>
std::vector<BestCut<Score>> best_path(const TokenMatcher& tokens, std::string_view text, const std::string& source,
                                      Total total, Unknown unknown) {
    using Cut = BestCut<Score>;
    check(text.size() < Cut::nowhere, source, ": a word of ", text.size(), " bytes");
    std::vector<Cut> best(text.size() + 1);
    const auto offer = [&](std::size_t begin, std::size_t end, std::uint32_t id, Score score) {
        Cut& cut = best[end];
        if (cut.begin == Cut::nowhere || score > cut.score) cut = {score, id, static_cast<std::uint32_t>(begin)};
    };
    const auto offer_token = [&](std::size_t begin, std::size_t end, std::uint32_t id) {
        const std::optional<Score> score = total(best[begin].score, id, end - begin);
        if (score) offer(begin, end, id, *score);
        return score.has_value();
    };
    const auto offer_unknown = [&](std::size_t begin, std::size_t end) {
        const auto [score, id] = unknown(best[begin].score);
        offer(begin, end, id, score);
    };

    std::size_t steps_left = TokenMatcher::most_steps(text), place = 0;
    while (place < text.size()) {
        const std::size_t length = character_length(text[place]);
        bool single = false;
        const std::size_t steps =
            tokens.trie().for_each_prefix(text.substr(place), [&](std::size_t bytes, std::uint32_t id) {
                const bool counts = offer_token(place, place + bytes, id);
                single = single || (counts && bytes == length);
            });
        if (!single) offer_unknown(place, place + length);
        place += length;
        if (steps > steps_left) break;
        steps_left -= steps;
    }
    if (place == text.size()) return best;

    // By the ends of tokens, which are offered in the same order.
    best.assign(text.size() + 1, {});
    const WorkScope work(text.size());
    const Automaton& automaton = tokens.forward();
    std::uint32_t state = Automaton::root;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = begin + character_length(text[begin]);
        for (std::size_t at = begin; at < end; ++at) state = automaton.step(state, text[at]);
        bool single = false;
        std::uint64_t steps = 0;
        automaton.for_each_end(state, [&](std::size_t bytes, std::uint32_t id) {
            const bool counts = offer_token(end - bytes, end, id);
            single = single || (counts && end - bytes == begin);
            ++steps;
            return true;
        });
        work->charge(4 * steps, source);
        if (!single) offer_unknown(begin, end);
        begin = end;
    }
    return best;
}

}  // namespace tessera::tokenizers
