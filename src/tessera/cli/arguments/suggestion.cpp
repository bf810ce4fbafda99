#include "tessera/cli/arguments/suggestion.h"

#include <algorithm>

#include "tessera/core/error.h"
#include "tessera/text/edit_distance.h"

namespace tessera::cli {
namespace {

constexpr std::size_t longest_typed = 64;  // no name is near a longer one, and the distance takes the product of both

std::string without_dashes(const std::string& name) {
    return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

// Of a short word nearly every letter must be right.
std::int64_t most_changes(std::size_t length) {
    return std::min<std::int64_t>(2, static_cast<std::int64_t>(length) / 3);
}

// Two neighbours that have changed places are one slip of the fingers.
bool is_swapped(const std::string& word, const std::string& other) {
    if (word.size() != other.size()) return false;
    const auto [a, b] = std::mismatch(word.begin(), word.end(), other.begin());
    return word.end() - a >= 2 && a[0] == b[1] && a[1] == b[0] && std::equal(a + 2, word.end(), b + 2);
}

std::int64_t changes_between(const std::string& word, const std::string& candidate) {
    const bool is_beginning = word.size() >= 3 && candidate.starts_with(word);
    return is_beginning || is_swapped(word, candidate) ? 1 : edit_distance(word, candidate);
}

}  // namespace

std::string suggestion(const std::string& typed, const std::vector<std::string>& known) {
    const std::string word = without_dashes(typed);
    if (word.empty() || word.size() > longest_typed) return {};
    std::string nearest;
    std::int64_t least = most_changes(word.size()) + 1;
    for (const std::string& name : known) {
        const std::string candidate = without_dashes(name);
        if (candidate.size() < 2) continue;
        const std::int64_t changes = changes_between(word, candidate);
        if (changes >= least) continue;
        least = changes;
        nearest = name;
    }
    return nearest.empty() ? "" : text_of("; did you mean '", nearest, "'?");
}

}  // namespace tessera::cli
