#include "tessera/tokenizers/sentencepiece/scored_bpe.h"

#include <queue>

namespace tessera::tokenizers {
namespace {

constexpr std::uint32_t end = 0xFFFFFFFFu;

struct Link {
    std::string_view text;
    std::uint32_t previous, next;
    bool frozen;
};

struct Pair {
    float score;
    std::uint32_t left, right;
    std::size_t bytes;

    bool operator<(const Pair& other) const {  // less urgent
        return score < other.score || (score == other.score && left > other.left);
    }
};

}  // namespace

std::vector<std::string_view> merge_by_score(const std::vector<ScoredSymbol>& symbols, std::size_t longest_piece,
                                             FunctionRef<ScoredPiece(std::string_view)> found,
                                             FunctionRef<void(std::int32_t, std::size_t)> merging) {
    const auto count = static_cast<std::uint32_t>(symbols.size());
    std::vector<Link> links;
    links.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i)
        links.push_back({symbols[i].text, i - 1, i + 1 < count ? i + 1 : end, symbols[i].frozen});

    std::priority_queue<Pair> waiting;
    const auto add = [&](std::uint32_t left, std::uint32_t right) {
        if (left == end || right == end || links[left].frozen || links[right].frozen) return;
        const std::size_t bytes = links[left].text.size() + links[right].text.size();
        if (bytes > longest_piece) return;
        const ScoredPiece piece = found({links[left].text.data(), bytes});
        if (piece.id < 0) return;
        waiting.push({piece.score, left, right, bytes});
        merging(piece.id, links[left].text.size());
    };
    for (std::uint32_t i = 1; i < count; ++i) add(i - 1, i);
    while (!waiting.empty()) {
        const Pair pair = waiting.top();
        waiting.pop();
        Link &left = links[pair.left], &right = links[pair.right];
        const bool stale =
            left.text.empty() || right.text.empty() || left.text.size() + right.text.size() != pair.bytes;
        if (stale) continue;
        left.text = {left.text.data(), pair.bytes};
        left.next = right.next;
        if (right.next != end) links[right.next].previous = pair.left;
        right.text = {};
        add(left.previous, pair.left);
        add(pair.left, left.next);
    }
    std::vector<std::string_view> texts;
    for (std::uint32_t i = 0; count > 0 && i != end; i = links[i].next) texts.push_back(links[i].text);
    return texts;
}

}  // namespace tessera::tokenizers
