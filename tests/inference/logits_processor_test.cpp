#include "tessera/inference/logits_processor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "support/expect_error.h"

namespace tessera::inference {
namespace {

std::vector<float> after(const models::LogitsRules& rules, const History& history,
                         std::vector<float> logits = {2, -2, 1, 4, 0}, std::int64_t max_new_tokens = 10) {
    LogitsProcessor book(rules, {4}, static_cast<std::int64_t>(logits.size()), max_new_tokens);
    EXPECT_FALSE(book.changes_nothing());
    book.apply(logits, history);
    return logits;
}

constexpr float never = -INFINITY;
using Scores = std::vector<float>;

TEST(LogitsRules, RepetitionIsPenalisedOnceInPromptAndText) {
    EXPECT_EQ(after({.repetition_penalty = 2}, {{0, 1, 1, 3}, 2}), (Scores{1, -4, 1, 2, 0}));
    EXPECT_EQ(after({.repetition_penalty = 0.5}, {{0, 1}, 2}), (Scores{4, -1, 1, 4, 0}));
    EXPECT_EQ(after({.repetition_penalty = 2}, {{-1, 900, 0}, 3}), (Scores{1, -2, 1, 4, 0}));  // an image's tokens
}

TEST(LogitsRules, PresenceAndFrequencyCountWhatWasGenerated) {
    EXPECT_EQ(after({.presence_penalty = 1}, {{0, 0, 1, 1, 2}, 2}), (Scores{2, -3, 0, 4, 0}));
    EXPECT_EQ(after({.frequency_penalty = 0.5}, {{0, 0, 1, 1, 2}, 2}), (Scores{2, -3, 0.5, 4, 0}));
    EXPECT_EQ(after({.presence_penalty = -1, .frequency_penalty = 0.25}, {{3, 3, 3}, 0}), (Scores{2, -2, 1, 4.25, 0}));
}

TEST(LogitsRules, BiasComesBeforePenalties) {
    EXPECT_EQ(after({.logit_bias = {{1, 3}, {3, -INFINITY}}, .repetition_penalty = 2}, {{1}, 1}),
              (Scores{2, 0.5, 1, never, 0}));
}

TEST(LogitsRules, NoNgramComesTwice) {
    EXPECT_EQ(after({.no_repeat_ngram = 2}, {{0, 1, 2, 0}, 4}), (Scores{2, never, 1, 4, 0}));
    EXPECT_EQ(after({.no_repeat_ngram = 3}, {{0, 1, 2, 0, 1}, 1}), (Scores{2, -2, never, 4, 0}));
    EXPECT_EQ(after({.no_repeat_ngram = 3}, {{0, 1, 2, 1}, 1}), (Scores{2, -2, 1, 4, 0}));
    EXPECT_EQ(after({.no_repeat_ngram = 1}, {{0, 3}, 1}), (Scores{never, -2, 1, never, 0}));
    EXPECT_EQ(after({.no_repeat_ngram = 5}, {{0}, 1}), (Scores{2, -2, 1, 4, 0}));
}

TEST(LogitsRules, NoLongNgramComesTwice) {
    std::mt19937 random(1);
    for (int round = 0; round < 300; ++round) {
        History history{.ids = {}, .prompt = 0};
        for (std::size_t length = random() % 40; history.ids.size() < length;) history.ids.push_back(random() % 2);
        const std::size_t n = 1 + random() % 12;
        Scores expected(3, 1);
        const std::vector<std::int64_t>& ids = history.ids;
        for (std::size_t next = n - 1; next < ids.size() && ids.size() + 1 >= n; ++next)
            if (std::equal(ids.end() - static_cast<std::ptrdiff_t>(n - 1), ids.end(),
                           ids.begin() + static_cast<std::ptrdiff_t>(next - (n - 1))))
                expected[static_cast<std::size_t>(ids[next])] = never;
        EXPECT_EQ(after({.no_repeat_ngram = static_cast<std::int64_t>(n)}, history, Scores(3, 1)), expected) << n;
    }
}

TEST(LogitsRules, LongListsCostWhatTheyHit) {
    // Each of these would take minutes if every word or stop were looked at for every token, or a repeat for every
    // place.
    std::vector<std::vector<std::int64_t>> words;
    for (std::int64_t i = 0; i < 400'000; ++i) words.push_back({i, 1});
    History history{.ids = std::vector<std::int64_t>(100'000, 0), .prompt = 0};
    LogitsProcessor book({.no_repeat_ngram = 50'000, .bad_words = words}, std::vector<std::int64_t>(400'000, 4), 5,
                         1'000'000);
    for (int step = 0; step < 200; ++step) {
        Scores logits(5, 1);
        book.apply(logits, history);
        EXPECT_EQ(logits, (Scores{never, never, 1, 1, 1}));
        EXPECT_TRUE(book.is_stop(4));
        EXPECT_FALSE(book.is_stop(3));
    }
}

TEST(LogitsRules, BadWordsAreCutAtTheirLastToken) {
    EXPECT_EQ(after({.bad_words = {{3}, {0, 1}, {2, 2}}}, {{2, 0}, 1}), (Scores{2, never, 1, never, 0}));
    EXPECT_EQ(after({.bad_words = {{0, 1, 2}}}, {{1}, 1}), (Scores{2, -2, 1, 4, 0}));
}

TEST(LogitsRules, StopIdsWaitAndTokensAreForced) {
    EXPECT_EQ(after({.min_new_tokens = 2}, {{0, 1}, 1})[4], never);
    EXPECT_EQ(after({.min_new_tokens = 1}, {{0, 1}, 1})[4], 0);
    EXPECT_EQ(after({.min_length = 3}, {{0, 1}, 1})[4], never);
    EXPECT_EQ(after({.suppressed = {0}, .suppressed_first = {1}}, {{0}, 1}), (Scores{never, never, 1, 4, 0}));
    EXPECT_EQ(after({.suppressed = {0}, .suppressed_first = {1}}, {{0, 0}, 1}), (Scores{never, -2, 1, 4, 0}));
    EXPECT_EQ(after({.forced_first = 2}, {{0}, 1}), (Scores{never, never, 0, never, never}));
    EXPECT_EQ(after({.forced_first = 2}, {{0, 2}, 1}), (Scores{2, -2, 1, 4, 0}));
    EXPECT_EQ(after({.forced_last = {4}}, {{0, 1, 1}, 1}, {2, -2, 1, 4, 0}, 3),
              (Scores{never, never, never, never, 0}));
    EXPECT_EQ(after({.forced_last = {4}}, {{0, 1, 1}, 1}, {2, -2, 1, 4, 0}, 4), (Scores{2, -2, 1, 4, 0}));
}

TEST(LogitsRules, RefusesWhatIsOutsideTheVocabulary) {
    const auto refuse = [](const models::LogitsRules& rules, const char* part) {
        testing::expect_error([&] { LogitsProcessor(rules, {}, 5, 10); }, {part});
    };
    refuse({.logit_bias = {{5, 1}}}, "token 5 is outside a vocabulary of 5");
    refuse({.logit_bias = {{-1, 1}}}, "token -1");
    refuse({.repetition_penalty = 0}, "repetition penalty");
    refuse({.presence_penalty = INFINITY}, "presence penalty");
    refuse({.forced_first = 99}, "forced_bos_token_id");
}

}  // namespace
}  // namespace tessera::inference
