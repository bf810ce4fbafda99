// Of all ways to cut a text into tokens, the one of the highest total score (Viterbi 1967): for each place the last
// token of the best way to cut what ends there. Where no token reaches across a place, what lies before it is settled,
// so that of a long text a stretch is held at a time; the scores go on, to the bit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/text/utf8.h"
#include "tessera/tokenizers/structures/token_matcher.h"
#include "tessera/tokenizers/text_work.h"

namespace tessera::tokenizers {

template <class Score, class Total, class Unknown, class Give>
class BestPath {
   public:
    // `total(so_far, id, length)`: the score with one token more, or nothing where it does not count.
    // `unknown(so_far)`: the score and id where no token is the one character that stands there. `give(begin, end, id)`
    // takes the path from left to right. Of equal scores the earliest beginning wins.
    BestPath(const TokenMatcher& tokens, std::string_view text, const std::string& source, Total total, Unknown unknown,
             Give give)
        : tokens_(tokens), text_(text), source_(source), total_(total), unknown_(unknown), give_(give) {
        best_.reserve(std::min(text.size(), 2 * stretch) + 1);
    }

    void run() {
        if (!walk_tree()) walk_automaton();
        settle(text_.size());
    }

   private:
    static constexpr std::uint32_t nowhere = 0xFFFFFFFFu;
    static constexpr std::size_t stretch = 1 << 16;  // bytes that are worth settling

    struct Cut {
        Score score = 0;
        std::uint32_t id = 0, length = nowhere;  // of the last token
    };

    // By the beginnings of tokens; false where that takes too long.
    bool walk_tree() {
        std::size_t steps_left = TokenMatcher::most_steps(text_), reached = 0;
        for (std::size_t place = 0; place < text_.size();) {
            if (place >= begin_ + stretch && reached <= place) settle(place);
            const std::size_t length = text::character_length(text_[place]);
            bool single = false;
            const std::size_t steps =
                tokens_.trie().for_each_prefix(text_.substr(place), [&](std::size_t bytes, std::uint32_t id) {
                    const bool counts = offer_token(place, place + bytes, id);
                    single = single || (counts && bytes == length);
                    reached = std::max(reached, place + bytes);
                });
            if (!single) offer_unknown(place, place + length);
            place += length;
            if (steps > steps_left) return place == text_.size();
            steps_left -= steps;
        }
        return true;
    }

    // By their ends, which are offered in the same order.
    void walk_automaton() {
        best_.resize(1);
        const WorkScope work(text_.size());
        const Automaton& automaton = tokens_.forward();
        std::uint32_t state = Automaton::root;
        for (std::size_t place = begin_; place < text_.size();) {
            if (place >= begin_ + stretch && state == Automaton::root) settle(place);
            const std::size_t end = place + text::character_length(text_[place]);
            for (std::size_t at = place; at < end; ++at) state = automaton.step(state, text_[at]);
            bool single = false;
            std::uint64_t steps = 0;
            automaton.for_each_end(state, [&](std::size_t bytes, std::uint32_t id) {
                const bool counts = offer_token(end - bytes, end, id);
                single = single || (counts && end - bytes == place);
                ++steps;
                return true;
            });
            work->charge(4 * steps, source_);
            if (!single) offer_unknown(place, end);
            place = end;
        }
    }

    bool offer_token(std::size_t begin, std::size_t end, std::uint32_t id) {
        const std::optional<Score> score = total_(best_[begin - begin_].score, id, end - begin);
        if (score) offer(begin, end, id, *score);
        return score.has_value();
    }
    void offer_unknown(std::size_t begin, std::size_t end) {
        const auto [score, id] = unknown_(best_[begin - begin_].score);
        offer(begin, end, id, score);
    }
    void offer(std::size_t begin, std::size_t end, std::uint32_t id, Score score) {
        if (end - begin_ >= best_.size()) best_.resize(end - begin_ + 1);
        Cut& cut = best_[end - begin_];
        if (cut.length == nowhere || score > cut.score) cut = {score, id, static_cast<std::uint32_t>(end - begin)};
    }

    // The path from begin_ to `end` is known.
    void settle(std::size_t end) {
        ends_.clear();
        for (std::size_t at = end; at > begin_; at -= best_[at - begin_].length) ends_.push_back(at);
        for (auto at = ends_.rbegin(); at != ends_.rend(); ++at) {
            const Cut& cut = best_[*at - begin_];
            give_(*at - cut.length, *at, cut.id);
        }
        const Score score = best_[end - begin_].score;
        best_.assign(1, {.score = score});
        begin_ = end;
    }

    const TokenMatcher& tokens_;
    std::string_view text_;
    const std::string& source_;
    Total total_;
    Unknown unknown_;
    Give give_;
    std::size_t begin_ = 0;  // of the stretch at hand
    std::vector<Cut> best_ = std::vector<Cut>(1);
    std::vector<std::size_t> ends_;
};

template <class Score, class Total, class Unknown, class Give>
void for_each_on_best_path(const TokenMatcher& tokens, std::string_view text, const std::string& source, Total total,
                           Unknown unknown, Give give) {
    BestPath<Score, Total, Unknown, Give>(tokens, text, source, total, unknown, give).run();
}

}  // namespace tessera::tokenizers
