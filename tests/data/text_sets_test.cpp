// Lines, pairs, labelled texts and texts with images: read as written, and errors name file and line.
#include <gtest/gtest.h>

#include <map>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/data/documents.h"
#include "tessera/data/image_texts.h"
#include "tessera/data/labelled_texts.h"
#include "tessera/data/lines.h"
#include "tessera/data/random_sequence.h"
#include "tessera/data/text_pairs.h"
#include "tessera/data/token_words.h"

namespace tessera::data {
namespace {

using testing::expect_error;
using testing::TemporaryFolder;

TEST(Lines, EndingsBlanksAndMarksAreNoText) {
    const TemporaryFolder folder;
    const Lines lines({folder.write("a.txt", "\xef\xbb\xbfone\r\n\n  \ntwo"), folder.write("b.txt", "three\n")});
    ASSERT_EQ(lines.size(), 3);
    EXPECT_EQ(lines.text(0), "one");
    EXPECT_EQ(lines.text(1), "two");
    EXPECT_EQ(lines.text(2), "three");
    EXPECT_EQ(lines.where(1), (folder / "a.txt").string() + ": line 4");
    EXPECT_EQ(lines.where(2), (folder / "b.txt").string() + ": line 1");
    expect_error([&] { Lines({folder.write("c.txt", "\n\n")}); }, {"c.txt", "no line"});
    expect_error([&] { Lines({folder / "nowhere.txt"}); }, {"nowhere.txt"});
}

TEST(Lines, AFolderIsItsFilesByName) {
    const TemporaryFolder folder;
    folder.write("d/b.tsv", "x");
    folder.write("d/a.tsv", "x");
    folder.write("d/c.csv", "x");
    const auto files = files_ending({(folder / "d").string()}, {".tsv"});
    ASSERT_EQ(files.size(), 2u);
    EXPECT_EQ(files[0].filename(), "a.tsv");
    expect_error([&] { files_ending({(folder / "d").string()}, {".jsonl"}); }, {"no .jsonl"});
    expect_error([&] { files_ending({"nowhere"}, {".tsv"}); }, {"nowhere", "no such"});
}

TEST(Texts, AreNoBinaryData) {
    const TemporaryFolder folder;
    const auto image = folder.write("a.txt", "\x89PNG\r\n\x1A\n");
    const auto zero = folder.write("b.txt", std::string_view("a\tb\0\n", 5));
    const auto ignore = [](std::string_view) {};
    expect_error([&] { for_each_document({image}, {}, ignore); }, {"a.txt", "PNG"});
    expect_error([&] { for_each_document({zero}, {}, ignore); }, {"b.txt", "byte 3"});
    expect_error([&] { Lines({image}); }, {"a.txt", "PNG"});
    expect_error([&] { TextPairs({zero}); }, {"b.txt", "byte 3"});
}

TEST(Texts, AreUtf8) {
    const TemporaryFolder folder;
    const auto ignore = [](std::string_view) {};
    const auto latin = folder.write("c.txt", "tea\n\xC3\xA9t\xC3\xA9\ncaf\xE9\n");
    const auto cut = folder.write("d.jsonl", "{\"text\": \"tea\"}\n\"caf\xC3\"\n");
    expect_error([&] { for_each_document({latin}, {}, ignore); }, {"c.txt: line 3: byte 14", "not UTF-8"});
    expect_error([&] { for_each_document({latin}, {.separator = "\n"}, ignore); }, {"c.txt: line 3: byte 14"});
    expect_error([&] { for_each_document({cut}, {}, ignore); }, {"d.jsonl: line 2", "not UTF-8"});
    std::string read;
    for_each_document({folder.write("e.txt", "caf\xC3\xA9")}, {}, [&](std::string_view text) { read = text; });
    EXPECT_EQ(read, "caf\xC3\xA9");
}

TEST(TextPairs, TwoColumnsAndNoMore) {
    const TemporaryFolder folder;
    const TextPairs pairs({folder.write("p.tsv", "Go.\tGeh.\tlicence\nHi.\tHallo!\n")});
    ASSERT_EQ(pairs.size(), 2);
    EXPECT_EQ(pairs.at(0).source, "Go.");
    EXPECT_EQ(pairs.at(0).target, "Geh.");
    EXPECT_EQ(pairs.at(1).target, "Hallo!");
    expect_error([&] { TextPairs({folder.write("q.tsv", "a\tb\n\nno tab")}); }, {"q.tsv: line 3", "tab"});
    expect_error([&] { TextPairs({folder.write("q.tsv", "a\tb\na\t\tc")}); }, {"line 2", "second text is empty"});
    expect_error([&] { TextPairs({folder.write("q.tsv", "\tb")}); }, {"line 1", "first text is empty"});
    expect_error([&] { TextPairs({folder.write("r.tsv", "a\tb\ncaf\xe9\tb")}); }, {"r.tsv", "line 2", "not UTF-8"});
    expect_error([&] { LabelledTexts({folder.write("s.tsv", "a\tb\ncaf\xe9\tb")}, "text"); },
                 {"s.tsv", "line 2", "not UTF-8"});
}

TEST(LabelledTexts, LinesOfJsonOrColumns) {
    const TemporaryFolder folder;
    const LabelledTexts json(
        {folder.write("a.jsonl", "{\"text\": \"good\", \"label\": \"yes\"}\n{\"text\": \"bad\", \"label\": 0}")});
    EXPECT_EQ(json.at(0).label, "yes");
    EXPECT_EQ(json.at(1).label, "0");
    EXPECT_EQ(json.labels(), (std::vector<std::string>{"0", "yes"}));
    const LabelledTexts columns({folder.write("a.tsv", "a good\tone\t1\n")});
    EXPECT_EQ(columns.at(0).text, "a good\tone");
    EXPECT_EQ(columns.at(0).label, "1");
    const auto refuse = [&](const std::string& name, const std::string& content,
                            std::initializer_list<std::string> parts) {
        expect_error([&] { LabelledTexts({folder.write(name, content)}); }, parts);
    };
    refuse("b.jsonl", "{\"text\": \"x\"}", {"b.jsonl: line 1", "label"});
    refuse("b.jsonl", "{\"text\": \"x\", \"label\": 1.5}", {"b.jsonl: line 1", "label"});
    refuse("b.jsonl", "{\"txt\": \"x\", \"label\": 1}", {"b.jsonl: line 1", "\"text\""});
    refuse("b.jsonl", "[1]", {"b.jsonl: line 1", "object"});
    refuse("b.jsonl", "{", {"b.jsonl: line 1"});
    refuse("b.tsv", "no tab", {"b.tsv: line 1", "tab"});
    refuse("b.tsv", "text\t", {"b.tsv: line 1", "label is empty"});
}

TEST(ImageTexts, PathsStartWhereTheLineStands) {
    const TemporaryFolder folder;
    folder.write("set/pictures/a.png", "x");
    const ImageTexts texts(
        {folder.write("set/lines.jsonl", R"({"image": "pictures/a.png", "prefix": "caption", "suffix": "a dog"})")},
        {"suffix", "prefix"});
    EXPECT_EQ(texts.at(0).image, folder / "set/pictures/a.png");
    EXPECT_EQ(texts.at(0).texts, (std::vector<std::string>{"a dog", "caption"}));
    const auto refuse = [&](const std::string& line, std::initializer_list<std::string> parts) {
        expect_error([&] { ImageTexts({folder.write("bad.jsonl", line)}, {"text"}); }, parts);
    };
    refuse(R"({"image": "b.png", "text": "x"})", {"bad.jsonl: line 1", "b.png"});
    refuse(R"({"image": "set/pictures/a.png"})", {"bad.jsonl: line 1", "\"text\""});
    refuse(R"({"image": 3, "text": "x"})", {"bad.jsonl: line 1", "\"image\""});
    refuse(R"("text")", {"bad.jsonl: line 1", "object"});
}

// "##" continues a word; what the tokenizer adds is no word.
TEST(TokenWords, PiecesOfAWordStandTogether) {
    const auto tokenizer = tokenizers::open_tokenizer(testing::golden_path("tokenizers/wordpiece-bert"));
    const TokenWords words(*tokenizer);
    const tokenizers::Ids ids = tokenizer->encode("unbelievably quick");
    const std::vector<std::size_t> starts = words.starts(ids);
    for (std::size_t i = 1; i < ids.size(); ++i)
        EXPECT_EQ(std::find(starts.begin(), starts.end(), i) == starts.end(),
                  tokenizer->token(ids[i]).starts_with("##"))
            << i;
    EXPECT_LT(starts.size(), ids.size());
    EXPECT_TRUE(words.is_special(ids.front()));
    EXPECT_TRUE(words.is_special(ids.back()));
}

TEST(TokenWords, ASignBeginsAWordAndPunctuationIsOne) {
    for (const char* name : {"byte-level-bpe-gpt2", "unigram-t5"}) {
        const auto tokenizer = tokenizers::open_tokenizer(testing::golden_path(std::string("tokenizers/") + name));
        const TokenWords words(*tokenizer);
        const tokenizers::Ids ids = tokenizer->encode("hello wonderful, world", false);
        std::string cut;
        const std::vector<std::size_t> starts = words.starts(ids);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            if (i > 0 && std::find(starts.begin(), starts.end(), i) != starts.end()) cut += '|';
            cut += tokenizer->token(ids[i]);
        }
        for (const char* mark : {"▁", "Ġ"})
            for (std::size_t at; (at = cut.find(mark)) != cut.npos;) cut.replace(at, std::string(mark).size(), " ");
        EXPECT_TRUE(cut == "hello| wonderful|,| world" || cut == " hello| wonderful|,| world") << name << ": " << cut;
    }
}

TEST(RandomSequence, AreFairAndTheSameForAKey) {
    RandomSequence draws({5, 6}), again({5, 6});
    std::vector<int> counts(7);
    double sum = 0;
    constexpr int turns = 14000;
    for (int i = 0; i < turns; ++i) {
        const std::int64_t value = draws.below(7);
        ASSERT_EQ(value, again.below(7));
        ++counts[static_cast<std::size_t>(value)];
        sum += static_cast<double>(draws.poisson(3));
        again.poisson(3);
    }
    for (const int count : counts) EXPECT_NEAR(count, turns / 7, 150);
    EXPECT_NEAR(sum / turns, 3, 0.06);
    std::map<std::vector<int>, int> orders;
    for (std::uint64_t i = 0; i < 6000; ++i) {
        std::vector<int> three{1, 2, 3};
        RandomSequence(RandomKey{5, 6}.child(i)).shuffle(three);
        ++orders[three];
    }
    for (const auto& [order, count] : orders) EXPECT_NEAR(count, 1000, 120);
    EXPECT_EQ(orders.size(), 6u);
    std::vector<int> cards{1, 2, 3, 4, 5, 6, 7, 8}, shuffled = cards;
    draws.shuffle(shuffled);
    EXPECT_NE(shuffled, cards);
    std::sort(shuffled.begin(), shuffled.end());
    EXPECT_EQ(shuffled, cards);
}

}  // namespace
}  // namespace tessera::data
