// BLEU against cases worked out by hand and against mteval's rules for words.
#include "tessera/evaluation/bleu.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera::evaluation {
namespace {

using Words = std::vector<std::string>;

double bleu(std::initializer_list<std::pair<const char*, const char*>> pairs) {
    Bleu score;
    for (const auto& [hypothesis, reference] : pairs) score.add(hypothesis, reference);
    return score.score();
}

TEST(Bleu, WordsAreMtevals) {
    EXPECT_EQ(bleu_words("Hello, world!"), (Words{"Hello", ",", "world", "!"}));
    EXPECT_EQ(bleu_words("It costs 1,234.56 dollars."), (Words{"It", "costs", "1,234.56", "dollars", "."}));
    EXPECT_EQ(bleu_words("in 1990-95, e.g. (a/b)"),
              (Words{"in", "1990", "-", "95", ",", "e", ".", "g", ".", "(", "a", "/", "b", ")"}));
    EXPECT_EQ(bleu_words("don't well-known"), (Words{"don't", "well-known"}));
    EXPECT_EQ(bleu_words("&quot;a&quot; &amp; b"), (Words{"\"", "a", "\"", "&", "b"}));
    EXPECT_EQ(bleu_words("Größe: 5\u00A0km"), (Words{"Größe", ":", "5", "km"}));
    EXPECT_EQ(bleu_words(" a  b\t\nc "), (Words{"a", "b", "c"}));
    EXPECT_EQ(bleu_words("Hello, world!", BleuWords::Spaces), (Words{"Hello,", "world!"}));
    EXPECT_TRUE(bleu_words("").empty());
}

TEST(Bleu, TheSameTextIsAHundred) {
    EXPECT_NEAR(bleu({{"the cat sat on the mat", "the cat sat on the mat"}}), 100, 1e-9);
    EXPECT_NEAR(bleu({{"ein kleines Haus steht dort", "ein kleines Haus steht dort"}, {"ja", "ja"}}), 100, 1e-9);
}

TEST(Bleu, PrecisionsAreClippedAndTheirMeanIsGeometric) {
    // "the" stands three times and once in the reference: words 4 of 6, pairs 3 of 5, threes 2 of 4, fours 1 of 3.
    EXPECT_NEAR(bleu({{"the cat sat on the the", "cat sat on the mat today"}}),
                100 * std::pow(4.0 / 6 * 3 / 5 * 2 / 4 * 1 / 3, 0.25), 1e-9);
    EXPECT_NEAR(bleu({{"a cat sat on the mat", "the cat sat on the mat"}}),
                100 * std::pow(5.0 / 6 * 4 / 5 * 3 / 4 * 2 / 3, 0.25), 1e-9);
}

TEST(Bleu, ShortTextsPay) {
    // All n-grams match; four words stand for six.
    EXPECT_NEAR(bleu({{"the cat sat on", "the cat sat on the mat"}}), 100 * std::exp(1 - 6.0 / 4), 1e-9);
    // Longer than the reference costs precision only.
    EXPECT_NEAR(bleu({{"the cat sat on the mat", "the cat sat on"}}),
                100 * std::pow(4.0 / 6 * 3 / 5 * 2 / 4 * 1 / 3, 0.25), 1e-9);
}

TEST(Bleu, ACorpusIsCountedTogether) {
    // Words 4 + 1 of 4 + 2, pairs 3 + 0 of 3 + 1, threes 2 of 2, fours 1 of 1.
    EXPECT_NEAR(bleu({{"a b c d", "a b c d"}, {"x y", "x z"}}), 100 * std::pow(5.0 / 6 * 3 / 4, 0.25), 1e-9);
}

TEST(Bleu, AnOrderWithoutMatchesIsSmoothed) {
    // Words 3 of 5, pairs 1 of 4, threes 0 of 3 → 1 / (2 · 3), fours 0 of 2 → 1 / (4 · 2).
    EXPECT_NEAR(bleu({{"a b x c y", "a b q c r"}}), 100 * std::pow(3.0 / 5 * 1 / 4 * 1 / 6 * 1 / 8, 0.25), 1e-9);
    EXPECT_EQ(bleu({{"x y z w", "a b c d"}}), 0);
    EXPECT_EQ(bleu({{"", "a b c d"}}), 0);
    EXPECT_EQ(bleu({{"a b", "a b"}}), 0);  // no text is long enough to have four words in a row
}

}  // namespace
}  // namespace tessera::evaluation
