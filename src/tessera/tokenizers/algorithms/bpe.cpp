#include "tessera/tokenizers/algorithms/bpe.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>

#include "tessera/core/error.h"
#include "tessera/formats/byte_reader.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/algorithms/merge_table.h"
#include "tessera/tokenizers/sentencepiece/byte_pieces.h"
#include "tessera/tokenizers/stages/byte_level.h"
#include "tessera/tokenizers/structures/adjacent_pairs.h"

namespace tessera::tokenizers {
namespace {

constexpr std::size_t short_word = 32;  // pieces; below it a scan of an array is quicker than a heap

// Merges within `pieces` and returns how many are left.
std::size_t merge_short(const MergeTable& table, std::uint32_t* pieces, std::size_t count) {
    MergeRule rules[short_word];  // of each piece with the next
    for (std::size_t i = 0; i + 1 < count; ++i) rules[i] = table.find(pieces[i], pieces[i + 1]);
    while (count > 1) {
        std::size_t best = 0;
        for (std::size_t i = 1; i + 1 < count; ++i)
            if (rules[i].rank < rules[best].rank) best = i;
        if (rules[best].rank == MergeRule::never) break;
        pieces[best] = rules[best].merged;
        --count;
        std::memmove(pieces + best + 1, pieces + best + 2, (count - best - 1) * sizeof *pieces);
        std::memmove(rules + best + 1, rules + best + 2, (count - best - 1) * sizeof *rules);
        if (best > 0) rules[best - 1] = table.find(pieces[best - 1], pieces[best]);
        if (best + 1 < count) rules[best] = table.find(pieces[best], pieces[best + 1]);
    }
    return count;
}

// The same for words of any length, in n log n: pieces are linked, and pairs wait in a heap by rank and place.
class LongMerge {
   public:
    LongMerge(const MergeTable& table, const std::vector<std::uint32_t>& pieces) : table_(table) {
        const auto count = static_cast<std::uint32_t>(pieces.size());
        links_.reserve(count);
        for (std::uint32_t i = 0; i < count; ++i)
            links_.push_back({pieces[i], i - 1, i + 1 < count ? i + 1 : end, true});
        for (std::uint32_t i = 0; i + 1 < count; ++i) {
            const MergeRule rule = table.find(pieces[i], pieces[i + 1]);
            if (rule.rank != MergeRule::never) waiting_.push_back({rule.rank, i, rule.merged});
        }
        std::make_heap(waiting_.begin(), waiting_.end(), later);
    }

    void run(Ids& out) {
        while (!waiting_.empty()) {
            std::pop_heap(waiting_.begin(), waiting_.end(), later);
            const Pair pair = waiting_.back();
            waiting_.pop_back();
            merge(pair);
        }
        for (std::uint32_t i = 0; i != end; i = links_[i].next) out.push_back(links_[i].id);
    }

   private:
    static constexpr std::uint32_t end = 0xFFFFFFFFu;
    struct Link {
        std::uint32_t id, previous, next;  // before the first: end
        bool alive;
    };
    struct Pair {
        std::uint32_t rank, place, merged;
    };
    static bool later(const Pair& a, const Pair& b) { return a.rank != b.rank ? a.rank > b.rank : a.place > b.place; }

    void merge(const Pair& pair) {
        Link& left = links_[pair.place];
        if (!left.alive || left.next == end) return;
        Link& right = links_[left.next];
        const MergeRule rule = table_.find(left.id, right.id);
        if (rule.rank != pair.rank || rule.merged != pair.merged) return;  // one of the two has changed since
        left.id = pair.merged;
        left.next = right.next;
        right.alive = false;
        if (left.next != end) links_[left.next].previous = pair.place;
        if (left.previous != end) add(left.previous);
        add(pair.place);
    }

    void add(std::uint32_t place) {
        const std::uint32_t next = links_[place].next;
        if (next == end) return;
        const MergeRule rule = table_.find(links_[place].id, links_[next].id);
        if (rule.rank == MergeRule::never) return;
        waiting_.push_back({rule.rank, place, rule.merged});
        std::push_heap(waiting_.begin(), waiting_.end(), later);
    }

    const MergeTable& table_;
    std::vector<Link> links_;
    std::vector<Pair> waiting_;
};

class Bpe : public Model {
   public:
    Bpe(Vocabulary vocabulary, const Merges& merges, const BpeOptions& options, const std::string& source)
        : vocabulary_(std::move(vocabulary)), options_(options), merges_(merges.size()) {
        if (options.bytes) keep_bytes();
        add_merges(merges, source);
        learn_pairs();
        if (options.unknown) unknown_ = vocabulary_.find(*options.unknown);
        if (options.unknown && unknown_ < 0)
            complaint_ =
                text_of(source, ": model.unk_token: ", formats::shown(*options.unknown), " is not in the vocabulary");
        fallback_ = byte_pieces(vocabulary_);
        for (int byte = 0; byte < 256; ++byte) {
            const char one = static_cast<char>(byte);
            single_[static_cast<std::size_t>(byte)] = keys().find({&one, 1});
        }
    }

    void encode(std::string_view word, Ids& out) const override {
        if (options_.ignore_merges) {
            const std::int32_t id = keys().find(word);
            if (id >= 0) {
                out.push_back(id);
                return;
            }
        }
        if (word.size() <= short_word) {
            std::uint32_t pieces[short_word + 8];
            if (const std::size_t count = known_pieces(word, pieces)) {
                const std::size_t left = merge_short(merges_, pieces, count);
                out.insert(out.end(), pieces, pieces + left);
                return;
            }
        }
        std::vector<std::uint32_t> pieces;
        split(word, pieces);
        if (pieces.size() <= short_word) {
            const std::size_t left = merge_short(merges_, pieces.data(), pieces.size());
            out.insert(out.end(), pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(left));
        } else {
            LongMerge(merges_, pieces).run(out);
        }
    }

    // Only between characters that are tokens: an unknown one may be joined to its neighbours.
    void cut(std::string_view word, FunctionRef<void(std::string_view)> give) const override {
        if (options_.bytes) return cut_bytes(word, give);
        std::size_t begin = 0;
        if (cuttable_)
            AdjacentPairs::for_each_pair(word, [&](char32_t left, char32_t right, std::size_t at) {
                if (pairs_.has(left, right) || !is_known(word, text::character_before(word, at)) || !is_known(word, at))
                    return;
                give(word.substr(begin, at - begin));
                begin = at;
            });
        give(word.substr(begin));
    }

    const Vocabulary& vocabulary() const override { return vocabulary_; }

   private:
    bool is_known(std::string_view word, std::size_t at) const {
        const std::size_t length = text::character_length(word[at]);
        return length == 1 ? single_[static_cast<unsigned char>(word[at])] >= 0
                           : vocabulary_.find(word.substr(at, length)) >= 0;
    }

    // The same for bytes; only so often that each part is worth its own call.
    void cut_bytes(std::string_view word, FunctionRef<void(std::string_view)> give) const {
        constexpr std::size_t shortest_part = 1024;
        const auto byte = [&](std::size_t at) {
            return static_cast<std::size_t>(static_cast<unsigned char>(word[at]));
        };
        std::size_t begin = 0;
        for (std::size_t at = 1; cuttable_ && at < word.size(); ++at) {
            if (at - begin < shortest_part || byte_pairs_[byte(at - 1) << 8 | byte(at)] || single_[byte(at - 1)] < 0 ||
                single_[byte(at)] < 0)
                continue;
            give(word.substr(begin, at - begin));
            begin = at;
        }
        give(word.substr(begin));
    }

    void learn_pairs() {
        cuttable_ = options_.continuing_prefix.empty() && options_.end_suffix.empty();
        for (std::int64_t id = 0; cuttable_ && id < keys().size(); ++id) {
            if (!keys().has(id)) continue;
            const std::string_view token = keys().token(id);
            if (!options_.bytes) pairs_.add(token);
            for (std::size_t at = 1; options_.bytes && at < token.size(); ++at)
                byte_pairs_.set(static_cast<std::size_t>(static_cast<unsigned char>(token[at - 1])) << 8 |
                                static_cast<unsigned char>(token[at]));
        }
    }

    // The tokens as words are written.
    const Vocabulary& keys() const { return options_.bytes ? bytes_ : vocabulary_; }

    void keep_bytes() {
        bytes_.reserve(static_cast<std::size_t>(vocabulary_.count()), 0);
        for (std::int64_t id = 0; id < vocabulary_.size(); ++id) {
            if (!vocabulary_.has(id)) continue;
            const std::string_view token = vocabulary_.token(id);
            if (const auto bytes = from_byte_characters(token)) bytes_.add(*bytes, vocabulary_.find(token));
        }
    }

    void add_merges(const Merges& merges, const std::string& source) {
        const std::size_t prefix = options_.continuing_prefix.size();
        std::string merged;
        for (std::size_t i = 0; i < merges.size(); ++i) {
            const auto& [left, right] = merges[i];
            const auto id = [&](std::string_view token) {
                const std::int32_t found = vocabulary_.find(token);
                if (found < 0)
                    fail(source, ": model.merges: entry ", i, ": ", formats::shown(token), " is not in the vocabulary");
                return static_cast<std::uint32_t>(found);
            };
            merged.assign(left).append(right.substr(std::min(prefix, right.size())));
            const std::uint32_t left_id = id(left), right_id = id(right), merged_id = id(merged);
            merges_.add(left_id, right_id,
                        {options_.ranked_by_id ? merged_id : static_cast<std::uint32_t>(i), merged_id});
        }
    }

    // A word of bytes that are all tokens, as their ids; 0: it is not so simple.
    std::size_t known_pieces(std::string_view word, std::uint32_t* pieces) const {
        if (!options_.bytes) return 0;
        std::size_t count = 0;
        for (const char byte : word) {
            const std::int32_t id = single_[static_cast<unsigned char>(byte)];
            if (id < 0) return 0;
            pieces[count++] = static_cast<std::uint32_t>(id);
        }
        return count;
    }

    void split(std::string_view word, std::vector<std::uint32_t>& pieces) const {
        pieces.reserve(word.size());
        // An unknown character waits for the next known one, so that a run of them can be one token. Characters written
        // as bytes do not end the wait: such is the reference.
        bool waiting = false;
        std::string written;
        for (std::size_t at = 0; at < word.size();) {
            const std::size_t length = options_.bytes ? 1 : text::character_length(word[at]);
            const std::string_view character = word.substr(at, length);
            const std::int32_t id = id_of(character, at == 0, at + length == word.size(), written);
            at += length;
            if (id >= 0) {
                if (waiting) pieces.push_back(static_cast<std::uint32_t>(unknown_));
                waiting = false;
                pieces.push_back(static_cast<std::uint32_t>(id));
            } else if (options_.byte_fallback && add_bytes(written.empty() ? character : written, pieces)) {
                continue;
            } else if (options_.unknown) {
                check(unknown_ >= 0, complaint_);  // not before it is needed
                if (waiting && !options_.fuse_unknown) pieces.push_back(static_cast<std::uint32_t>(unknown_));
                waiting = true;
            }
        }
        if (waiting) pieces.push_back(static_cast<std::uint32_t>(unknown_));
    }

    std::int32_t id_of(std::string_view character, bool first, bool last, std::string& written) const {
        written.clear();
        const bool prefix = !first && !options_.continuing_prefix.empty(),
                   suffix = last && !options_.end_suffix.empty();
        if (!prefix && !suffix)
            return character.size() == 1 ? single_[static_cast<unsigned char>(character[0])] : keys().find(character);
        if (prefix) written += options_.continuing_prefix;
        written += character;
        if (suffix) written += options_.end_suffix;
        return vocabulary_.find(written);
    }

    bool add_bytes(std::string_view text, std::vector<std::uint32_t>& pieces) const {
        for (const char byte : text)
            if (fallback_[static_cast<unsigned char>(byte)] < 0) return false;
        for (const char byte : text)
            pieces.push_back(static_cast<std::uint32_t>(fallback_[static_cast<unsigned char>(byte)]));
        return true;
    }

    Vocabulary vocabulary_, bytes_;
    BpeOptions options_;
    MergeTable merges_;
    AdjacentPairs pairs_;
    std::bitset<256 * 256> byte_pairs_;  // the same of bytes
    bool cuttable_ = false;
    std::int32_t unknown_ = -1;
    std::string complaint_;
    std::array<std::int32_t, 256> fallback_{}, single_{};
};

}  // namespace

std::unique_ptr<Model> make_bpe(Vocabulary vocabulary, const Merges& merges, const BpeOptions& options,
                                const std::string& source) {
    return std::make_unique<Bpe>(std::move(vocabulary), merges, options, source);
}

}  // namespace tessera::tokenizers
