#include "tessera/tokenizers/training/bpe_trainer.h"

#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>

#include "tessera/core/error.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/structures/hash.h"

namespace tessera::tokenizers {
namespace {

using Id = std::int32_t;
using Pair = std::pair<Id, Id>;

struct PairHash {
    std::size_t operator()(const Pair& pair) const {
        return mix(static_cast<std::uint64_t>(pair.first) << 32 | static_cast<std::uint32_t>(pair.second),
                   0x9E3779B97F4A7C15u);
    }
};

struct Candidate {
    std::int64_t count;
    Pair pair;

    bool operator<(const Candidate& other) const {  // the heap gives the largest
        return count != other.count ? count < other.count : pair > other.pair;
    }
};

class Trainer {
   public:
    Trainer(const WordCounts& words, const BpeTraining& training) : training_(training), counts_of_words_(words) {
        for (const std::string& token : training.special) id_of(token);
        add_alphabet();
        check(static_cast<std::int64_t>(result_.tokens.size()) <= training.vocabulary,
              "training: ", result_.tokens.size(), " special tokens and characters do not fit a vocabulary of ",
              training.vocabulary);
        add_words();
    }

    TrainedBpe run() {
        while (static_cast<std::int64_t>(result_.tokens.size()) < training_.vocabulary && !heap_.empty()) {
            Candidate best = heap_.top();
            heap_.pop();
            const auto found = pairs_.find(best.pair);
            const std::int64_t count = found == pairs_.end() ? 0 : found->second.count;
            if (count != best.count) {
                if (count > 0) heap_.push({count, best.pair});
                continue;
            }
            if (count < std::max<std::int64_t>(training_.least_count, 1)) break;
            merge(best.pair);
            if (training_.report && result_.tokens.size() % 64 == 0)
                training_.report(static_cast<double>(result_.tokens.size()), static_cast<double>(training_.vocabulary));
        }
        return std::move(result_);
    }

   private:
    struct Occurrences {
        std::int64_t count = 0;
        std::vector<std::uint32_t> words = {};  // that may hold the pair; some more than once
    };

    Id id_of(const std::string& token) {
        const auto [place, is_new] = ids_.try_emplace(token, static_cast<Id>(result_.tokens.size()));
        if (is_new) result_.tokens.push_back(token);
        return place->second;
    }

    void add_alphabet() {
        std::map<std::string, std::int64_t> seen;
        for (const WordCount& word : counts_of_words_)
            for (std::size_t at = 0; at < word.word.size(); at += text::character_length(word.word[at]))
                seen[word.word.substr(at, text::character_length(word.word[at]))] += word.count;
        if (seen.size() > training_.most_characters) {
            std::vector<std::pair<std::int64_t, std::string>> by_count;
            for (const auto& [character, count] : seen) by_count.emplace_back(-count, character);
            std::sort(by_count.begin(), by_count.end());
            for (std::size_t i = training_.most_characters; i < by_count.size(); ++i) seen.erase(by_count[i].second);
        }
        for (const std::string& character : training_.alphabet) seen[character];
        for (const auto& [character, _] : seen) id_of(character);  // UTF-8 sorts as its characters do
    }

    void add_words() {
        words_.resize(counts_of_words_.size());
        for (std::uint32_t index = 0; index < words_.size(); ++index) {
            const std::string& text = counts_of_words_[index].word;
            std::vector<Id>& word = words_[index];
            for (std::size_t at = 0; at < text.size(); at += text::character_length(text[at])) {
                std::string character = text.substr(at, text::character_length(text[at]));
                if (!ids_.contains(character)) continue;
                if (at > 0 && !training_.continuing_prefix.empty()) character.insert(0, training_.continuing_prefix);
                word.push_back(id_of(character));
            }
            for (std::size_t i = 0; i + 1 < word.size(); ++i) change({word[i], word[i + 1]}, index, 1);
        }
        for (const auto& [pair, occurrences] : pairs_) heap_.push({occurrences.count, pair});
        fresh_.clear();
    }

    void change(Pair pair, std::uint32_t word, int by) {
        Occurrences& occurrences = pairs_[pair];
        occurrences.count += by * counts_of_words_[word].count;
        if (by < 0) return;
        if (occurrences.words.empty() || occurrences.words.back() != word) occurrences.words.push_back(word);
        fresh_.push_back(pair);
    }

    std::string joined(Pair pair) const {
        const std::string& right = result_.tokens[static_cast<std::size_t>(pair.second)];
        const std::string& prefix = training_.continuing_prefix;
        const std::string& left = result_.tokens[static_cast<std::size_t>(pair.first)];
        return left + (!prefix.empty() && right.starts_with(prefix) ? right.substr(prefix.size()) : right);
    }

    void merge(Pair pair) {
        const Id id = id_of(joined(pair));
        result_.merges.push_back(pair);
        std::vector<std::uint32_t> touched = std::move(pairs_[pair].words);
        pairs_.erase(pair);
        std::sort(touched.begin(), touched.end());
        touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
        fresh_.clear();
        for (const std::uint32_t index : touched) merge_in(index, pair, id);
        pairs_.erase(pair);  // runs of one letter count it again while they shrink
        std::sort(fresh_.begin(), fresh_.end());
        fresh_.erase(std::unique(fresh_.begin(), fresh_.end()), fresh_.end());
        for (const Pair& each : fresh_)
            if (const auto found = pairs_.find(each); found != pairs_.end() && found->second.count > 0)
                heap_.push({found->second.count, each});
    }

    void merge_in(std::uint32_t index, Pair pair, Id id) {
        std::vector<Id>& word = words_[index];
        std::size_t out = 0;
        for (std::size_t in = 0; in < word.size(); ++in) {
            const bool here = in + 1 < word.size() && word[in] == pair.first && word[in + 1] == pair.second;
            if (!here) {
                word[out++] = word[in];
                continue;
            }
            if (out > 0) {
                change({word[out - 1], pair.first}, index, -1);
                change({word[out - 1], id}, index, 1);
            }
            if (in + 2 < word.size()) {
                change({pair.second, word[in + 2]}, index, -1);
                change({id, word[in + 2]}, index, 1);
            }
            word[out++] = id;
            ++in;
        }
        word.resize(out);
    }

    const BpeTraining& training_;
    const WordCounts& counts_of_words_;
    TrainedBpe result_;
    std::unordered_map<std::string, Id> ids_;
    std::vector<std::vector<Id>> words_;
    std::unordered_map<Pair, Occurrences, PairHash> pairs_;
    std::priority_queue<Candidate> heap_;
    std::vector<Pair> fresh_;  // whose count grew in this step
};

}  // namespace

TrainedBpe train_bpe(const WordCounts& words, const BpeTraining& training) { return Trainer(words, training).run(); }

}  // namespace tessera::tokenizers
