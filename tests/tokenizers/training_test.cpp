// Learned tokenizers: against the plain definition of the algorithm, through our own reader, and the same every time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "tessera/core/parallel.h"
#include "tessera/formats/json.h"
#include "tessera/tokenizers/json/tokenizer_json.h"
#include "tessera/tokenizers/training/bpe_trainer.h"
#include "tessera/tokenizers/training/lattice.h"
#include "tessera/tokenizers/training/substrings.h"
#include "tessera/tokenizers/training/trained_tokenizer.h"
#include "tessera/tokenizers/training/unigram_trainer.h"
#include "tessera/tokenizers/training/word_list.h"

namespace tessera::tokenizers {
namespace {

using formats::Json;
using testing::expect_error;
using testing::TemporaryFolder;

const char* const corpus =
    "the cat sat on the mat. the dog sat on the log.\nA naïve café: the cats' hats, aaaa aaaaa bananas!\n"
    "the then there these thesis; low lower lowest new newer newest wide wider widest\n";

std::string long_corpus() {
    std::string text;
    for (int i = 0; i < 40; ++i) text += corpus + std::string(i % 7, 'a') + " ba" + std::string(i % 3, 'n') + "\n";
    return text;
}

// Counts every pair anew for every merge.
std::vector<std::string> plain_bpe(const WordCounts& words, std::size_t vocabulary, std::int64_t least) {
    std::vector<std::string> tokens;
    std::map<std::string, int> ids;
    for (const WordCount& word : words)
        for (const char c : word.word) ids[std::string(1, c)];
    for (auto& [token, id] : ids) {
        id = static_cast<int>(tokens.size());
        tokens.push_back(token);
    }
    std::vector<std::vector<int>> cut;
    for (const WordCount& word : words) {
        cut.emplace_back();
        for (const char c : word.word) cut.back().push_back(ids[std::string(1, c)]);
    }
    while (tokens.size() < vocabulary) {
        std::map<std::pair<int, int>, std::int64_t> counts;
        for (std::size_t w = 0; w < cut.size(); ++w)
            for (std::size_t i = 0; i + 1 < cut[w].size(); ++i) counts[{cut[w][i], cut[w][i + 1]}] += words[w].count;
        std::pair<int, int> best;
        std::int64_t count = 0;
        for (const auto& [pair, number] : counts)
            if (number > count) best = pair, count = number;
        if (count < least) break;
        const std::string joined =
            tokens[static_cast<std::size_t>(best.first)] + tokens[static_cast<std::size_t>(best.second)];
        if (!ids.contains(joined)) {
            ids[joined] = static_cast<int>(tokens.size());
            tokens.push_back(joined);
        }
        for (auto& word : cut)
            for (std::size_t i = 0; i + 1 < word.size(); ++i)
                if (word[i] == best.first && word[i + 1] == best.second) {
                    word[i] = ids[joined];
                    word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
                }
    }
    return tokens;
}

TEST(BpeTrainer, IsThePlainAlgorithm) {
    WordCounts words;
    for (const auto& [word, count] : std::map<std::string, int>{{"low", 5},
                                                                {"lower", 2},
                                                                {"newest", 6},
                                                                {"widest", 3},
                                                                {"bananas", 4},
                                                                {"aaaaaaa", 3},
                                                                {"aabaab", 2},
                                                                {"x", 9}})
        words.push_back({word, count});
    for (const std::int64_t least : {1, 2, 4})
        EXPECT_EQ(train_bpe(words, {.vocabulary = 60, .least_count = least}).tokens,
                  plain_bpe(words, 60, std::max<std::int64_t>(least, 1)))
            << least;
}

TEST(BpeTrainer, KeepsItsBounds) {
    const WordCounts words = {{"abab", 3}, {"abc", 2}};
    const TrainedBpe trained = train_bpe(words, {.vocabulary = 5, .special = {"<s>"}});
    EXPECT_EQ(trained.tokens, (std::vector<std::string>{"<s>", "a", "b", "c", "ab"}));
    expect_error([&] { train_bpe(words, {.vocabulary = 3, .special = {"<s>"}}); }, {"4 special tokens", "3"});
    const TrainedBpe pieces = train_bpe(words, {.vocabulary = 20, .least_count = 1, .continuing_prefix = "##"});
    EXPECT_EQ(pieces.tokens,
              (std::vector<std::string>{"a", "b", "c", "##b", "##a", "##c", "ab", "##ab", "abab", "abc"}));
}

TEST(WordCounts, AreWholeLinesAndBounded) {
    const auto splitter = word_splitter();
    const WordCounts words = count_words("b a\nb \xFF", {.pre_tokenizer = splitter.get()});
    ASSERT_EQ(words.size(), 3u);
    EXPECT_EQ(words[0].word, "a");
    EXPECT_EQ(words[1].word, "b");
    EXPECT_EQ(words[1].count, 2);
    EXPECT_EQ(words[2].word, "\xEF\xBF\xBD");
    std::string run;
    for (int i = 0; i < 3000; ++i) run += "é";
    std::size_t bytes = 0;
    for (const WordCount& word : count_words(run, {})) {
        EXPECT_LE(word.word.size(), 4096u);
        bytes += word.word.size();
    }
    EXPECT_EQ(bytes, run.size());
}

TEST(Substrings, AreThoseThatWordsShare) {
    std::map<std::string, std::int64_t> found;
    for (const Substring& each : shared_substrings({{"banana", 2}, {"bandana", 3}}, 16, 100))
        found[each.text] = each.count;
    const std::map<std::string, std::int64_t> expected = {{"a", 15},  {"b", 5},  {"d", 3},   {"n", 10},
                                                          {"an", 10}, {"na", 7}, {"ana", 7}, {"ban", 5}};
    EXPECT_EQ(found, expected);
}

TEST(Lattice, WeighsAllWaysToCutAWord) {
    Trie trie;
    const std::vector<double> scores = {std::log(0.5), std::log(0.25), std::log(0.25)};
    for (const auto& [text, id] : {std::pair{"a", 0u}, std::pair{"b", 1u}, std::pair{"ab", 2u}}) trie.add(text, id);
    Lattice lattice(trie, scores, -20);
    std::vector<double> expected(3, 0.0);
    // a|b has 1/8, ab has 1/4.
    EXPECT_NEAR(lattice.expect("ab", 3, expected), std::log(0.375), 1e-12);
    EXPECT_NEAR(expected[0], 1, 1e-12);
    EXPECT_NEAR(expected[1], 1, 1e-12);
    EXPECT_NEAR(expected[2], 2, 1e-12);
    double score = 0;
    const auto best = lattice.best("aab", score);
    EXPECT_EQ(std::vector<std::uint32_t>(best.begin(), best.end()), (std::vector<std::uint32_t>{0, 2}));
    const auto without = lattice.best("ab", score, 2);
    EXPECT_EQ(std::vector<std::uint32_t>(without.begin(), without.end()), (std::vector<std::uint32_t>{0, 1}));
    EXPECT_TRUE(lattice.best("b", score, 1).empty());
}

class Training : public ::testing::TestWithParam<const char*> {};

TEST_P(Training, GivesATokenizerThatReads) {
    const TemporaryFolder folder;
    const auto file = folder.write("corpus.txt", long_corpus());
    const TokenizerTraining training{
        .kind = GetParam(), .vocabulary = 300, .special = {"<extra>"}, .whole = {"<loc7>"}};
    const TrainedTokenizer trained = train_tokenizer({file}, training);
    EXPECT_LE(trained.size, 300);
    folder.write("tokenizer.json", trained.tokenizer_json);
    folder.write("tokenizer_config.json", trained.config_json);
    const auto tokenizer = open_tokenizer(folder.path());
    EXPECT_EQ(tokenizer->size(), trained.size);
    EXPECT_TRUE(tokenizer->is_special(*tokenizer->id("<extra>")));
    const std::int64_t whole = *tokenizer->id("<loc7>");
    EXPECT_FALSE(tokenizer->is_special(whole));
    EXPECT_EQ(tokenizer->encode("<loc7><loc7>", false), (Ids{whole, whole}));
    EXPECT_EQ(tokenizer->decode(Ids{whole}, true), "<loc7>");
    const std::string text = "the cat sat on the mat";
    const Ids ids = tokenizer->encode(text, false);
    EXPECT_EQ(tokenizer->decode(ids), text);
    EXPECT_LE(ids.size(), text.size());
    for (const std::int64_t id : ids) EXPECT_FALSE(tokenizer->is_special(id));
    EXPECT_EQ(tokenizer->special.unknown.has_value(), std::string(GetParam()) != "bpe");

    // The same at every number of threads.
    const int threads = thread_count();
    set_thread_count(3);
    EXPECT_EQ(train_tokenizer({file}, training).tokenizer_json, trained.tokenizer_json);
    set_thread_count(threads);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Training, ::testing::Values("bpe", "unigram", "wordpiece", "words", "characters"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Training, BytesOfEveryTextComeBack) {
    const TemporaryFolder folder;
    const auto file = folder.write("corpus.txt", long_corpus());
    const TrainedTokenizer trained = train_tokenizer({file}, {.kind = "bpe", .vocabulary = 400});
    const auto tokenizer = parse_tokenizer_json(Json::parse(trained.tokenizer_json, "t"), "t");
    for (const std::string text : {"", " ", "  two  spaces ", "日本語 😀", "tab\tline\n\nend\n", "the cats' hats"})
        EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
    EXPECT_EQ(tokenizer->encode(" the").size(), 1u);
}

TEST(Training, RefusesWhatCannotBe) {
    const TemporaryFolder folder;
    const auto file = folder.write("corpus.txt", corpus), empty = folder.write("empty.txt", "");
    expect_error([&] { train_tokenizer({file}, {.kind = "magic"}); }, {"'magic'", "bpe, unigram"});
    expect_error([&] { train_tokenizer({empty}, {}); }, {"no text"});
    expect_error([&] { train_tokenizer({folder / "none.txt"}, {}); }, {"none.txt"});
    expect_error([&] { train_tokenizer({file}, {.kind = "bpe", .vocabulary = 100}); }, {"257", "100"});
    expect_error([&] { train_tokenizer({file}, {.kind = "unigram", .vocabulary = 10}); }, {"characters", "10"});
    expect_error([&] { train_tokenizer({file}, {.vocabulary = -1}); }, {"-1"});
    expect_error([&] { train_tokenizer({file}, {.special = {"<|endoftext|>"}}); }, {"there already"});
}

TEST(WordList, GrowsWithEveryNewWord) {
    WordList words({"<unk>"});
    EXPECT_EQ(words.encode("the cat, the dog"), (Ids{1, 2, 3, 1, 4}));
    EXPECT_EQ(words.encode("a dog"), (Ids{5, 4}));
    EXPECT_EQ(words.size(), 6);
    EXPECT_EQ(words.decode(Ids{1, 4}), "the dog");
    expect_error([&] { words.decode(Ids{6}); }, {"6"});
}

}  // namespace
}  // namespace tessera::tokenizers
