// The substrings that words share, as candidates for tokens: nodes of the words' suffix tree, found by sorting
// suffixes.
#pragma once

#include <string>
#include <vector>

#include "tessera/tokenizers/training/word_counts.h"

namespace tessera::tokenizers {

struct Substring {
    std::string text;
    std::int64_t count;  // in the whole corpus
    std::int64_t characters;
};

// Every single character, and every text of 2 to `longest` characters that stands at two places or more and goes on in
// different ways; at most `most`, those that cover the most text first.
std::vector<Substring> shared_substrings(const WordCounts& words, std::int64_t longest, std::size_t most);

}  // namespace tessera::tokenizers
