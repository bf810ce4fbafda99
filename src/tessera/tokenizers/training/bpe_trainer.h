// Learns a BPE vocabulary (Sennrich et al. 2016): the most frequent pair of neighbours becomes one token, again and
// again. Counts are kept up to date by the words that a merge touches, and the best pair comes from a heap whose stale
// entries are put right when they surface. Of pairs equally frequent the one with the lower ids wins, as in the
// reference library.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tessera/tokenizers/training/word_counts.h"

namespace tessera::tokenizers {

struct BpeTraining {
    std::int64_t vocabulary = 30'000;  // tokens in all
    std::int64_t least_count = 2;      // of a pair, to be merged
    std::vector<std::string> special = {};
    std::vector<std::string> alphabet = {};   // characters that are tokens even if the corpus lacks them
    std::size_t most_characters = 1'000'000;  // the most frequent ones that the corpus may add; others are dropped
    std::string continuing_prefix = {};       // before every character of a word but the first: WordPiece's ##
    Report report = {};
};

struct TrainedBpe {
    std::vector<std::string> tokens;                            // by id: special, characters in order, merged ones
    std::vector<std::pair<std::int32_t, std::int32_t>> merges;  // in order
};

TrainedBpe train_bpe(const WordCounts& words, const BpeTraining& training);

}  // namespace tessera::tokenizers
