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
    return length < 4 ? 1 : std::max<std::int64_t>(2, static_cast<std::int64_t>(length) / 3);
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
        const bool is_beginning = word.size() >= 3 && candidate.starts_with(word);
        const std::int64_t changes = is_beginning ? 1 : edit_distance(word, candidate);
        if (changes >= least) continue;
        least = changes;
        nearest = name;
    }
    return nearest.empty() ? "" : text_of("; did you mean '", nearest, "'?");
}

}  // namespace tessera::cli
