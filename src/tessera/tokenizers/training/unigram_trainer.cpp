#include "tessera/tokenizers/training/unigram_trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <unordered_set>

#include "tessera/core/error.h"
#include "tessera/core/parallel.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/training/lattice.h"
#include "tessera/tokenizers/training/substrings.h"

namespace tessera::tokenizers {
namespace {

constexpr int parts = 16;  // of the words, each summed on its own: the same at any number of threads
constexpr int rounds_between_prunings = 2;
constexpr double shrinking = 0.75, least_expected = 0.5, unknown_penalty = 10;

// The derivative of log Γ: what the expected logarithm of a Dirichlet-distributed probability needs.
double digamma(double x) {
    double result = 0;
    for (; x < 7; ++x) result -= 1 / x;
    x -= 0.5;
    const double square = 1 / (x * x), fourth = square * square;
    return result + std::log(x) + square / 24 - 7.0 / 960 * fourth + 31.0 / 8064 * fourth * square -
           127.0 / 30720 * fourth * fourth;
}

class Trainer {
   public:
    Trainer(const WordCounts& words, const UnigramTraining& training) : words_(words), training_(training) {
        wanted_ = training.vocabulary - static_cast<std::int64_t>(training.special.size());
        choose_characters();
        for (Substring& seed : shared_substrings(words, training.longest, training.most_seeds))
            if (!is_special(seed.text))
                pieces_.emplace_back(std::move(seed.text), static_cast<double>(seed.count * seed.characters));
        double total = 0;
        for (const ScoredToken& piece : pieces_) total += piece.second;
        for (ScoredToken& piece : pieces_) piece.second = std::log(piece.second) - std::log(total);
        seeds_ = static_cast<double>(pieces_.size());
    }

    std::vector<ScoredToken> run() {
        const auto enough = static_cast<std::size_t>(wanted_ + wanted_ / 10);
        while (true) {
            for (int round = 0; round < rounds_between_prunings; ++round) fit();
            if (training_.report)
                training_.report(seeds_ - static_cast<double>(pieces_.size()), seeds_ - static_cast<double>(wanted_));
            if (pieces_.size() <= enough) break;
            const std::size_t before = pieces_.size();
            prune(enough);
            if (pieces_.size() == before) break;
        }
        return finish();
    }

   private:
    bool is_special(const std::string& text) const {
        return std::find(training_.special.begin(), training_.special.end(), text) != training_.special.end();
    }

    // The most frequent characters that make up the wanted part of the corpus.
    void choose_characters() {
        std::map<std::string, std::int64_t> counts;
        std::int64_t total = 0;
        for (const WordCount& word : words_)
            for (std::size_t at = 0; at < word.word.size(); at += text::character_length(word.word[at])) {
                counts[word.word.substr(at, text::character_length(word.word[at]))] += word.count;
                total += word.count;
            }
        std::vector<std::pair<std::int64_t, std::string>> by_count;
        for (const auto& [character, count] : counts) by_count.emplace_back(-count, character);
        std::sort(by_count.begin(), by_count.end());
        std::int64_t covered = 0;
        for (const auto& [count, character] : by_count) {
            if (static_cast<double>(covered) >= training_.coverage * static_cast<double>(total)) break;
            covered -= count;
            if (!is_special(character)) characters_.insert(character);
        }
        check(static_cast<std::int64_t>(characters_.size()) <= wanted_, "training: ", characters_.size(),
              " characters and ", training_.special.size(), " special tokens do not fit a vocabulary of ",
              training_.vocabulary);
    }

    double lowest() const {
        double score = 0;
        for (const ScoredToken& piece : pieces_) score = std::min(score, piece.second);
        return score;
    }

    void index() {
        trie_ = Trie();
        scores_.clear();
        for (std::uint32_t i = 0; i < pieces_.size(); ++i) {
            trie_.add(pieces_[i].first, i);
            scores_.push_back(pieces_[i].second);
        }
    }

    // Sums what `visit(lattice, word, sums)` adds over all words.
    template <class Visit>
    std::vector<double> over_words(const Visit& visit) {
        std::array<std::vector<double>, parts> sums;
        const double unknown_score = lowest() - unknown_penalty;
        parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t part = begin; part < end; ++part) {
                std::vector<double>& mine = sums[static_cast<std::size_t>(part)];
                mine.assign(pieces_.size(), 0);
                Lattice lattice(trie_, scores_, unknown_score);
                for (auto i = static_cast<std::size_t>(part); i < words_.size(); i += parts)
                    visit(lattice, words_[i], mine);
            }
        });
        for (int part = 1; part < parts; ++part)
            for (std::size_t i = 0; i < pieces_.size(); ++i) sums[0][i] += sums[static_cast<std::size_t>(part)][i];
        return std::move(sums[0]);
    }

    // One round of expectation–maximisation; what is hardly expected goes.
    void fit() {
        index();
        const std::vector<double> expected = over_words([](Lattice& lattice, const WordCount& word, auto& sums) {
            lattice.expect(word.word, static_cast<double>(word.count), sums);
        });
        std::vector<ScoredToken> kept;
        double total = 0;
        for (std::size_t i = 0; i < pieces_.size(); ++i) {
            if (expected[i] < least_expected) continue;
            total += expected[i];
            kept.emplace_back(std::move(pieces_[i].first), digamma(expected[i]));
        }
        for (ScoredToken& piece : kept) piece.second -= digamma(total);
        pieces_ = std::move(kept);
    }

    // Drops the tokens without which the corpus is hardly less probable, down to three quarters of them.
    void prune(std::size_t enough) {
        index();
        const std::vector<double> counts = over_words([](Lattice& lattice, const WordCount& word, auto& sums) {
            double score = 0;
            for (const std::uint32_t token : lattice.best(word.word, score))
                if (token != Lattice::unknown) sums[token] += static_cast<double>(word.count);
        });
        const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
        std::vector<std::pair<double, std::size_t>> candidates;
        std::vector<bool> keeps(pieces_.size(), false);
        std::size_t kept = 0;
        Lattice lattice(trie_, scores_, 0);
        for (std::uint32_t i = 0; i < pieces_.size(); ++i) {
            double score = 0;
            const auto instead = lattice.best(pieces_[i].first, score, i);
            if (instead.empty()) {  // nothing can take its place
                keeps[i] = true;
                ++kept;
            } else if (counts[i] > 0 && score < pieces_[i].second) {
                double loss = std::log(counts[i]) - std::log(total);
                const double total_without = total + counts[i] * (static_cast<double>(instead.size()) - 1);
                for (const std::uint32_t token : instead)
                    loss -= std::log(counts[token] + counts[i]) - std::log(total_without);
                candidates.emplace_back(-loss * counts[i] / total, i);
            }
        }
        std::sort(candidates.begin(), candidates.end());
        const auto size = std::max(enough, static_cast<std::size_t>(shrinking * static_cast<double>(pieces_.size())));
        for (const auto& [_, i] : candidates) {
            if (kept++ >= size) break;
            keeps[i] = true;
        }
        std::vector<ScoredToken> remaining;
        for (std::size_t i = 0; i < pieces_.size(); ++i)
            if (keeps[i]) remaining.push_back(std::move(pieces_[i]));
        pieces_ = std::move(remaining);
    }

    // Every wanted character, then the best tokens.
    std::vector<ScoredToken> finish() {
        double missing_score = lowest();
        std::vector<ScoredToken> chosen;
        std::set<std::string> missing = characters_;
        std::sort(pieces_.begin(), pieces_.end(), by_score);
        for (const ScoredToken& piece : pieces_)
            if (missing.erase(piece.first)) chosen.push_back(piece);
        for (const std::string& character : missing) chosen.emplace_back(character, missing_score -= 1e-4);
        for (const ScoredToken& piece : pieces_) {
            if (static_cast<std::int64_t>(chosen.size()) >= wanted_) break;
            const bool is_character = piece.first.size() == text::character_length(piece.first[0]);
            if (!is_character) chosen.push_back(piece);
        }
        std::sort(chosen.begin(), chosen.end(), by_score);
        std::vector<ScoredToken> all;
        for (const std::string& token : training_.special) all.emplace_back(token, 0.0);
        all.insert(all.end(), chosen.begin(), chosen.end());
        return all;
    }

    static bool by_score(const ScoredToken& a, const ScoredToken& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    }

    const WordCounts& words_;
    const UnigramTraining& training_;
    std::int64_t wanted_ = 0;
    std::set<std::string> characters_;
    std::vector<ScoredToken> pieces_;
    std::vector<double> scores_;
    Trie trie_;
    double seeds_ = 0;
};

}  // namespace

std::vector<ScoredToken> train_unigram(const WordCounts& words, const UnigramTraining& training) {
    return Trainer(words, training).run();
}

}  // namespace tessera::tokenizers
