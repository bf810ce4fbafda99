#include "tessera/tokenizers/training/lattice.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/text/utf8.h"

namespace tessera::tokenizers {
namespace {

constexpr double impossible = -std::numeric_limits<double>::infinity();

double log_of_sum(double a, double b) {
    if (a == impossible) return b;
    if (b == impossible) return a;
    const double larger = std::max(a, b);
    return larger + std::log1p(std::exp(std::min(a, b) - larger));
}

}  // namespace

void Lattice::find_edges(std::string_view word, std::uint32_t without, bool with_unknown) {
    edges_.clear();
    for (std::size_t begin = 0; begin < word.size();) {
        const std::size_t next = std::min(begin + text::character_length(word[begin]), word.size());
        bool has_character = false;
        trie_.for_each_prefix(word.substr(begin), [&](std::size_t length, std::uint32_t token) {
            if (token == without) return;
            edges_.push_back(
                {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(begin + length), token, scores_[token]});
            has_character = has_character || begin + length == next;
        });
        if (!has_character && with_unknown)
            edges_.push_back(
                {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(next), unknown, unknown_score_});
        begin = next;
    }
}

double Lattice::expect(std::string_view word, double weight, std::span<double> expected) {
    find_edges(word, unknown, true);
    forward_.assign(word.size() + 1, impossible);
    backward_.assign(word.size() + 1, impossible);
    forward_[0] = backward_[word.size()] = 0;
    for (const Edge& edge : edges_)
        forward_[edge.end] = log_of_sum(forward_[edge.end], forward_[edge.begin] + edge.score);
    for (std::size_t i = edges_.size(); i-- > 0;) {
        const Edge& edge = edges_[i];
        backward_[edge.begin] = log_of_sum(backward_[edge.begin], backward_[edge.end] + edge.score);
    }
    const double total = forward_[word.size()];
    for (const Edge& edge : edges_)
        if (edge.token != unknown)
            expected[edge.token] += weight * std::exp(forward_[edge.begin] + edge.score + backward_[edge.end] - total);
    return total;
}

std::span<const std::uint32_t> Lattice::best(std::string_view word, double& score, std::uint32_t without) {
    find_edges(word, without, without == unknown);
    forward_.assign(word.size() + 1, impossible);
    arrival_.assign(word.size() + 1, 0);
    forward_[0] = 0;
    for (std::uint32_t i = 0; i < edges_.size(); ++i) {
        const Edge& edge = edges_[i];
        const double reached = forward_[edge.begin] + edge.score;
        if (reached <= forward_[edge.end]) continue;
        forward_[edge.end] = reached;
        arrival_[edge.end] = i;
    }
    path_.clear();
    score = forward_[word.size()];
    if (score == impossible) return {};
    for (std::size_t at = word.size(); at > 0; at = edges_[arrival_[at]].begin)
        path_.push_back(edges_[arrival_[at]].token);
    std::reverse(path_.begin(), path_.end());
    return path_;
}

}  // namespace tessera::tokenizers
