#include "tessera/models/ngram/ngram_counts.h"

#include <algorithm>
#include <limits>

#include "tessera/core/error.h"

namespace tessera::models {
namespace {

constexpr std::int32_t beginning = -1;

struct Range {
    std::size_t begin, end;
};

// Places of a text, sorted by what stands before them: nearest token first. The places after one context, however
// long, are then one range, and within it the contexts that are one token longer are ranges again.
class SortedPlaces {
   public:
    SortedPlaces(const std::vector<std::int32_t>& text, std::int64_t context) : text_(text) {
        for (std::size_t place = 0; place < text.size(); ++place)
            if (text[place] != beginning) places_.push_back(static_cast<std::uint32_t>(place));
        std::sort(places_.begin(), places_.end(), [&](std::uint32_t a, std::uint32_t b) {
            for (std::int64_t back = 1; back <= context; ++back) {
                const std::int32_t left = text_[a - static_cast<std::size_t>(back)],
                                   right = text_[b - static_cast<std::size_t>(back)];
                if (left != right) return left < right;
                if (left == beginning) break;
            }
            return a < b;
        });
    }

    std::size_t size() const { return places_.size(); }
    std::int32_t token(std::size_t index) const { return text_[places_[index]]; }
    // The token `back` places before, where the context of back − 1 tokens is whole.
    std::int32_t before(std::size_t index, std::int64_t back) const {
        return text_[places_[index] - static_cast<std::size_t>(back)];
    }

   private:
    const std::vector<std::int32_t>& text_;
    std::vector<std::uint32_t> places_;
};

// One length of context: its ranges, and behind each range the tokens that follow with their counts.
struct Level {
    std::vector<Range> ranges;
    std::vector<std::size_t> first_entries;  // one more than ranges
    std::vector<std::int32_t> successors;
    std::vector<std::int64_t> counts;
};

class Counter {
   public:
    Counter(const SortedPlaces& places, std::int64_t vocabulary)
        : places_(places), counts_(static_cast<std::size_t>(vocabulary), 0), last_(counts_.size(), none) {}

    // Counts what follows in each range: how often, or after how many different tokens `back` places before.
    void count(Level& level, std::int64_t back, bool different) {
        level.first_entries = {0};
        for (const Range& range : level.ranges) {
            found_.clear();
            for (std::size_t i = range.begin; i < range.end; ++i) {
                const std::int32_t token = places_.token(i), before = different ? places_.before(i, back) : 0;
                auto& count = counts_[static_cast<std::size_t>(token)];
                auto& last = last_[static_cast<std::size_t>(token)];
                if (count == 0) found_.push_back(token);
                if (!different || last != before) ++count;
                last = before;
            }
            std::sort(found_.begin(), found_.end());
            for (const std::int32_t token : found_) {
                level.successors.push_back(token);
                level.counts.push_back(counts_[static_cast<std::size_t>(token)]);
                counts_[static_cast<std::size_t>(token)] = 0;
                last_[static_cast<std::size_t>(token)] = none;
            }
            level.first_entries.push_back(level.successors.size());
        }
    }

   private:
    static constexpr std::int32_t none = -2;
    const SortedPlaces& places_;
    std::vector<std::int64_t> counts_;
    std::vector<std::int32_t> last_, found_;
};

// The discount that leaves the likelihood of held-out n-grams about highest (Ney et al. 1994), kept away from 0, where
// tokens never seen would be impossible, and from 1, where those seen once would count for nothing.
double estimated_discount(const std::vector<std::int64_t>& counts) {
    const auto once = static_cast<double>(std::count(counts.begin(), counts.end(), 1)),
               twice = static_cast<double>(std::count(counts.begin(), counts.end(), 2));
    return std::clamp(once > 0 ? once / (once + 2 * twice) : 0, 0.1, 0.95);
}

void append(const Level& level, const SmoothingSettings& settings, ContextArrays& arrays) {
    const bool adds = settings.kind == Smoothing::AddK;
    const double added = adds ? settings.k * static_cast<double>(settings.vocabulary) : 0;
    const double discount = adds ? 0 : settings.discount > 0 ? settings.discount : estimated_discount(level.counts);
    for (std::size_t node = 0; node < level.ranges.size(); ++node) {
        const std::size_t begin = level.first_entries[node], end = level.first_entries[node + 1];
        double total = added;
        for (std::size_t i = begin; i < end; ++i) total += static_cast<double>(level.counts[i]);
        for (std::size_t i = begin; i < end; ++i) {
            arrays.successors.push_back(level.successors[i]);
            arrays.shares.push_back(static_cast<float>((static_cast<double>(level.counts[i]) - discount) / total));
        }
        arrays.rests.push_back(
            static_cast<float>((adds ? added : discount * static_cast<double>(end - begin)) / total));
        arrays.entries.push_back(static_cast<std::int32_t>(arrays.successors.size()));
    }
}

}  // namespace

void NgramCounts::add(std::span<const std::int64_t> tokens, bool begins) {
    check(text_.size() + tokens.size() < std::numeric_limits<std::int32_t>::max() / 2,
          "the text is longer than the 1,073,741,823 tokens that can be counted");
    if (begins || text_.empty()) text_.push_back(beginning);
    for (const std::int64_t token : tokens) text_.push_back(static_cast<std::int32_t>(token));
}

ContextArrays NgramCounts::estimated(const SmoothingSettings& settings) const {
    const SortedPlaces places(text_, settings.order - 1);
    check(places.size() > 0, "the text has no token to count");
    ContextArrays arrays{.tokens = {0}, .entries = {0}};
    Counter counter(places, settings.vocabulary);
    std::vector<Range> ranges{{0, places.size()}};
    for (std::int64_t context = 0; context < settings.order; ++context) {
        const bool is_longest = context + 1 == settings.order;
        Level level{.ranges = std::move(ranges), .first_entries = {}, .successors = {}, .counts = {}};
        counter.count(level, context + 1, settings.kind == Smoothing::KneserNey && !is_longest);
        append(level, settings, arrays);
        check(arrays.successors.size() < std::numeric_limits<std::int32_t>::max(),
              "the text has more different n-grams than can be numbered; a smaller order has fewer");
        ranges.clear();
        for (const Range& range : level.ranges) {
            arrays.children.push_back(static_cast<std::int32_t>(arrays.tokens.size()));
            for (std::size_t begin = range.begin; !is_longest && begin < range.end;) {
                const std::int32_t token = places.before(begin, context + 1);
                std::size_t end = begin;
                while (end < range.end && places.before(end, context + 1) == token) ++end;
                if (token != beginning) {
                    arrays.tokens.push_back(token);
                    ranges.push_back({begin, end});
                }
                begin = end;
            }
        }
    }
    arrays.children.push_back(static_cast<std::int32_t>(arrays.tokens.size()));
    return arrays;
}

}  // namespace tessera::models
