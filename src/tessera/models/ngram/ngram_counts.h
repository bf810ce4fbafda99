// Counts of n-grams, for all lengths of context at once, and the smoothed probabilities that come of it.
//
// Add-k (Lidstone 1920):      p(w | c) = (n(c w) + k) / (n(c) + k V)
// Interpolated Kneser–Ney     p(w | c) = max(n(c w) − D, 0) / n(c) + D · N(c •) / n(c) · p(w | c without its oldest
// token) (Kneser & Ney 1995, Chen & Goodman 1999)        with N(c •) the number of different tokens after c. For the
// longest contexts n counts how
//                             often, for shorter ones after how many different tokens: a word that only ever follows
//                             one other is no likely guess elsewhere, however frequent. Below all stands 1 / V.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/models/ngram/context_tree.h"

namespace tessera::models {

enum class Smoothing : std::uint8_t { AddK, KneserNey };

struct SmoothingSettings {
    Smoothing kind = Smoothing::KneserNey;
    std::int64_t order = 1, vocabulary = 1;
    double k = 0;  // add-k
    double discount =
        0;  // Kneser–Ney; 0: estimated for each length as n₁ / (n₁ + 2 n₂), of n-grams seen once and twice
};

class NgramCounts {
   public:
    void add(std::span<const std::int64_t> tokens, bool begins);
    bool empty() const { return text_.empty(); }
    ContextArrays estimated(const SmoothingSettings& settings) const;

   private:
    std::vector<std::int32_t> text_;  // −1 before each text's first token
};

}  // namespace tessera::models
