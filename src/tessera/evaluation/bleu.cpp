#include "tessera/evaluation/bleu.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace tessera::evaluation {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The signs that 13a sets apart wherever they stand: all of ASCII's but ' , - .
bool stands_alone(char c) {
    return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') ||
           (c >= ':' && c <= '@') || c == '/';
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

// A point or comma goes apart unless digits stand on both sides, a dash behind a digit. Each of mteval's rules looks at
// pairs from left to right and goes on behind what it has replaced.
std::string spaced_pairs(const std::string& text, bool (*meets)(char first, char second), bool before, bool after) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (i + 1 >= text.size() || !meets(text[i], text[i + 1])) {
            out += text[i];
            continue;
        }
        if (before) out += ' ';
        out += text[i];
        out += ' ';
        out += text[++i];
        if (after) out += ' ';
    }
    return out;
}

bool is_mark(char c) { return c == '.' || c == ','; }

std::string tokenised_13a(std::string_view given) {
    std::string text(given);
    replace_all(text, "<skipped>", "");
    replace_all(text, "-\n", "");
    replace_all(text, "\n", " ");
    replace_all(text, "&quot;", "\"");
    replace_all(text, "&amp;", "&");
    replace_all(text, "&lt;", "<");
    replace_all(text, "&gt;", ">");
    std::string apart = " ";
    for (const char c : text) {
        if (stands_alone(c))
            apart += {' ', c, ' '};
        else
            apart += c;
    }
    apart += ' ';
    apart = spaced_pairs(
        apart, [](char a, char b) { return !is_digit(a) && is_mark(b); }, false, true);
    apart = spaced_pairs(
        apart, [](char a, char b) { return is_mark(a) && !is_digit(b); }, true, false);
    return spaced_pairs(
        apart, [](char a, char b) { return is_digit(a) && b == '-'; }, false, true);
}

using Words = std::vector<std::string>;
using NgramCounts = std::map<Words, std::int64_t>;

NgramCounts ngrams(const Words& words, std::size_t order) {
    NgramCounts counts;
    for (std::size_t i = 0; i + order <= words.size(); ++i)
        ++counts[Words(words.begin() + static_cast<std::ptrdiff_t>(i),
                       words.begin() + static_cast<std::ptrdiff_t>(i + order))];
    return counts;
}

}  // namespace

std::vector<std::string> bleu_words(std::string_view text, BleuWords kind) {
    std::string spaced = kind == BleuWords::Mteval13a ? tokenised_13a(text) : std::string(text);
    for (const char* space : {"\u00A0", "\u2009", "\u202F", "\u3000"}) replace_all(spaced, space, " ");
    std::vector<std::string> words;
    bool inside = false;
    for (const char c : spaced) {
        if (!is_space(c)) {
            if (!inside) words.emplace_back();
            words.back() += c;
        }
        inside = !is_space(c);
    }
    return words;
}

void Bleu::add(std::string_view hypothesis, std::string_view reference) {
    const Words ours = bleu_words(hypothesis, kind_), theirs = bleu_words(reference, kind_);
    hypothesis_words_ += static_cast<std::int64_t>(ours.size());
    reference_words_ += static_cast<std::int64_t>(theirs.size());
    for (std::size_t order = 1; order <= orders; ++order) {
        const NgramCounts known = ngrams(theirs, order);
        for (const auto& [ngram, count] : ngrams(ours, order)) {
            totals_[order - 1] += count;
            const auto found = known.find(ngram);
            if (found != known.end()) matches_[order - 1] += std::min(count, found->second);
        }
    }
}

std::array<double, Bleu::orders> Bleu::precisions() const {
    std::array<double, orders> shares = {};
    double smoothing = 1;
    for (std::size_t order = 0; order < orders && totals_[order] > 0; ++order) {
        const auto total = static_cast<double>(totals_[order]);
        if (matches_[order] == 0) smoothing *= 2;
        shares[order] = 100 * (matches_[order] > 0 ? static_cast<double>(matches_[order]) : 1 / smoothing) / total;
    }
    return shares;
}

double Bleu::brevity_penalty() const {
    if (hypothesis_words_ >= reference_words_) return 1;
    if (hypothesis_words_ == 0) return 0;
    return std::exp(1 - static_cast<double>(reference_words_) / static_cast<double>(hypothesis_words_));
}

double Bleu::score() const {
    if (std::all_of(matches_.begin(), matches_.end(), [](std::int64_t count) { return count == 0; })) return 0;
    double logs = 0;
    for (const double share : precisions()) {
        if (share == 0) return 0;  // no text is long enough for this order
        logs += std::log(share);
    }
    return brevity_penalty() * std::exp(logs / orders);
}

}  // namespace tessera::evaluation
