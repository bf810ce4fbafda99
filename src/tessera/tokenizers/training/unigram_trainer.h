// Learns a unigram vocabulary (Kudo 2018) as SentencePiece does: begin with many substrings, fit their probabilities by
// expectation–maximisation over all ways to cut every word, drop the quarter whose loss hurts least, and go on until
// the vocabulary has the size that was asked for.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tessera/tokenizers/training/word_counts.h"

namespace tessera::tokenizers {

struct UnigramTraining {
    std::int64_t vocabulary = 8'000;  // tokens in all, special ones with them
    std::vector<std::string> special = {};
    std::int64_t longest = 16;           // characters of a token
    std::size_t most_seeds = 1'000'000;  // substrings to begin with
    double coverage = 0.9995;            // of the corpus' characters; rarer ones are unknown
    Report report = {};
};

using ScoredToken = std::pair<std::string, double>;  // the natural logarithm of its probability

// Special tokens first, with the score 0, then by falling score.
std::vector<ScoredToken> train_unigram(const WordCounts& words, const UnigramTraining& training);

}  // namespace tessera::tokenizers
