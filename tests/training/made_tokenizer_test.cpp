// Tokenizers that are made from the data, without training.
#include "tessera/training/tokenizer_spec.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::training {
namespace {

using tokenizers::Ids;

class Made : public ::testing::Test {
   protected:
    std::shared_ptr<const tokenizers::Tokenizer> make(TokenizerKind kind, std::int64_t sentinels = 0) const {
        make_tokenizer({.kind = kind, .data = {data_}, .sentinels = sentinels}, folder_ / "tokenizer");
        return tokenizers::open_tokenizer(folder_ / "tokenizer");
    }

    testing::TemporaryFolder folder_;
    std::string data_ = folder_.write("lines.jsonl",
                                      "{\"image\": \"art/0042.png\", \"text\": \"red heart\"}\n"
                                      "{\"image\": \"art/0043.png\", \"text\": \"heart: <unk> é!\"}\n");
};

TEST_F(Made, Words) {
    const auto tokenizer = make(TokenizerKind::Words);
    // Five named tokens, then "!", ":", "<", ">", "heart", "red", "unk", "é": no part of an image's path.
    EXPECT_EQ(tokenizer->size(), 5 + 8);
    EXPECT_EQ(tokenizer->encode("red  heart!"), (Ids{10, 9, 5}));
    EXPECT_EQ(tokenizer->encode("red cat"), (Ids{10, 3}));  // a word that is not known
    EXPECT_EQ(tokenizer->decode(Ids{10, 9}), "red heart");
    EXPECT_EQ(tokenizer->special.eos, 1);
    EXPECT_EQ(tokenizer->special.padding, 0);
}

TEST_F(Made, CharactersAndBytes) {
    const auto characters = make(TokenizerKind::Characters, 2);
    const Ids ids = characters->encode("heé");
    EXPECT_EQ(ids.size(), 3u);
    EXPECT_EQ(characters->decode(ids), "heé");
    EXPECT_EQ(characters->encode("9"), (Ids{3}));  // stands in a path only
    EXPECT_EQ(characters->encode("<extra_id_1>"), (Ids{6}));
    const auto bytes = make(TokenizerKind::Bytes);
    EXPECT_EQ(bytes->size(), 5 + 256);
    EXPECT_EQ(bytes->encode("é9").size(), 3u);
    EXPECT_EQ(bytes->decode(bytes->encode("é9")), "é9");
}

TEST_F(Made, ALearnedOneHasSentinelsToo) {
    data_ = folder_.write("text.txt", "red heart and blue heart and red hand and blue hand");
    for (const TokenizerKind kind : {TokenizerKind::Unigram, TokenizerKind::Bpe, TokenizerKind::Wordpiece}) {
        const auto tokenizer = make(kind, 2);
        ASSERT_TRUE(tokenizer->id("<extra_id_1>"));
        EXPECT_EQ(tokenizer->encode("red<extra_id_1>", false).back(), *tokenizer->id("<extra_id_1>"));
        EXPECT_TRUE(tokenizer->is_special(*tokenizer->id("<extra_id_0>")));
    }
}

TEST_F(Made, ALearnedOneTellsHowFarItIs) {
    data_ = folder_.write("text.txt", "red heart and blue heart and red hand and blue hand");
    std::set<std::string> told;
    make_tokenizer({.kind = TokenizerKind::Bpe,
                    .data = {data_},
                    .vocabulary = 280,
                    .report = [&](const std::string& what, double, double) { told.insert(what); }},
                   folder_ / "tokenizer");
    EXPECT_TRUE(told.contains("reading"));
}

TEST_F(Made, Names) {
    EXPECT_EQ(tokenizer_kind("words"), TokenizerKind::Words);
    EXPECT_EQ(tokenizer_kind("bytes"), TokenizerKind::Bytes);
    EXPECT_EQ(tokenizer_kind("characters"), TokenizerKind::Characters);
    EXPECT_FALSE(tokenizer_kind("a/folder"));
}

}  // namespace
}  // namespace tessera::training
