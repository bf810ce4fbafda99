// How often each word stands in a corpus: all that a tokenizer is trained on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/tokenizers/stages/normalizer.h"
#include "tessera/tokenizers/stages/pre_tokenizer.h"

namespace tessera::tokenizers {

struct WordCount {
    std::string word;
    std::int64_t count;
};
using WordCounts = std::vector<WordCount>;  // in the order of their bytes, each once

// What makes words of a line; either may be none.
struct WordSplit {
    const Normalizer* normalizer = nullptr;
    const PreTokenizer* pre_tokenizer = nullptr;
};

using Report = std::function<void(double done, double total)>;

// Line by line, the line's end with it, on all threads; the same at any number of them. Of very many different words,
// those that were met once are forgotten, so that memory stays bounded. What is no UTF-8 counts as U+FFFD.
WordCounts count_words(const std::vector<std::filesystem::path>& files, const WordSplit& split,
                       const Report& report = {});
WordCounts count_words(std::string_view text, const WordSplit& split);

}  // namespace tessera::tokenizers
