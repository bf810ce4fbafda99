#include "tessera/tokenizers/training/substrings.h"

#include <algorithm>
#include <map>

#include "tessera/core/error.h"
#include "tessera/text/utf8.h"

namespace tessera::tokenizers {
namespace {

// The characters of all words in a row, a 0 after each word.
struct Row {
    std::vector<char32_t> characters = {};
    std::vector<std::uint32_t> word = {};  // of each character
};

Row row_of(const WordCounts& words) {
    Row row;
    for (std::uint32_t index = 0; index < words.size(); ++index) {
        const std::string& text = words[index].word;
        for (std::size_t at = 0; at < text.size(); at += text::character_length(text[at])) {
            row.characters.push_back(text::character_at(text.data() + at));
            row.word.push_back(index);
        }
        row.characters.push_back(0);
        row.word.push_back(index);
    }
    check(row.characters.size() < (std::size_t{1} << 31), "training: the words have too many characters");
    return row;
}

std::string text_at(const Row& row, std::size_t at, std::int64_t length) {
    std::string text;
    for (std::int64_t i = 0; i < length; ++i)
        text::append_character(text, row.characters[at + static_cast<std::size_t>(i)]);
    return text;
}

}  // namespace

std::vector<Substring> shared_substrings(const WordCounts& words, std::int64_t longest, std::size_t most) {
    const Row row = row_of(words);
    std::vector<std::uint32_t> suffixes;
    for (std::uint32_t i = 0; i < row.characters.size(); ++i)
        if (row.characters[i] != 0) suffixes.push_back(i);
    // A suffix ends with its word, and only its first characters matter.
    const auto common = [&](std::uint32_t a, std::uint32_t b) {
        std::int64_t length = 0;
        while (length < longest && row.characters[a] == row.characters[b] && row.characters[a] != 0) ++a, ++b, ++length;
        return length;
    };
    std::sort(suffixes.begin(), suffixes.end(), [&](std::uint32_t a, std::uint32_t b) {
        const auto same = static_cast<std::uint32_t>(common(a, b));
        if (same < longest && row.characters[a + same] != row.characters[b + same])
            return row.characters[a + same] < row.characters[b + same];
        return a < b;
    });

    std::vector<Substring> found;
    std::map<char32_t, std::int64_t> single;
    struct Node {
        std::int64_t length, count;
        std::size_t begin, occurrences;
    };
    std::vector<Node> open;  // from the shortest to the longest
    for (std::size_t i = 0; i < suffixes.size(); ++i) {
        const std::int64_t weight = words[row.word[suffixes[i]]].count;
        single[row.characters[suffixes[i]]] += weight;
        const std::int64_t shared = i + 1 < suffixes.size() ? common(suffixes[i], suffixes[i + 1]) : 0;
        std::int64_t count = weight;
        std::size_t occurrences = 1, begin = i;
        while (!open.empty() && open.back().length > shared) {
            Node node = open.back();
            open.pop_back();
            node.count += count;
            node.occurrences += occurrences;
            if (node.length >= 2 && node.occurrences >= 2)
                found.push_back({text_at(row, suffixes[node.begin], node.length), node.count, node.length});
            count = node.count;
            occurrences = node.occurrences;
            begin = node.begin;
        }
        if (shared == 0) continue;
        if (open.empty() || open.back().length < shared) {
            open.push_back({shared, count, begin, occurrences});
        } else {
            open.back().count += count;
            open.back().occurrences += occurrences;
        }
    }
    std::sort(found.begin(), found.end(), [](const Substring& a, const Substring& b) {
        const std::int64_t left = a.count * a.characters, right = b.count * b.characters;
        return left != right ? left > right : a.text < b.text;
    });
    if (found.size() > most) found.resize(most);
    for (const auto& [character, count] : single) {
        std::string text;
        text::append_character(text, character);
        found.push_back({std::move(text), count, 1});
    }
    return found;
}

}  // namespace tessera::tokenizers
