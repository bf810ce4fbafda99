// The reference's own answers: ids with and without special tokens and decoded text, for every text of every tokenizer
// in goldens/tokenizers. Decoding id by id gives the same text, in whole characters.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "support/goldens.h"
#include "tessera/formats/json.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/stream_decoder.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::tokenizers {
namespace {

using formats::Json;

Ids ids_of(const Json& list) {
    Ids ids;
    for (const Json& id : list.items()) ids.push_back(id.as_integer());
    return ids;
}

std::string streamed(const Tokenizer& tokenizer, const Ids& ids) {
    StreamDecoder decoder(tokenizer, false);
    std::string text;
    for (const std::int64_t id : ids) {
        const std::string piece = decoder.add(id);
        EXPECT_TRUE(text::is_valid_utf8(piece));
        text += piece;
    }
    return text + decoder.finish();
}

class Goldens : public ::testing::TestWithParam<std::string> {};

TEST_P(Goldens, AnswersAsTheReference) {
    const std::filesystem::path folder = testing::golden_path("tokenizers/" + GetParam());
    const auto tokenizer = open_tokenizer(folder);
    const Json cases = Json::read(folder / "expected.json");
    EXPECT_GE(cases.items().size(), 100u);
    for (const Json& expected : cases.items()) {
        const std::string& text = expected.find("text")->as_string();
        const Ids ids = tokenizer->encode(text, false);
        EXPECT_EQ(ids, ids_of(*expected.find("ids"))) << text;
        EXPECT_EQ(tokenizer->encode(text), ids_of(*expected.find("ids_with_special"))) << text;
        EXPECT_EQ(tokenizer->decode(ids), expected.find("decoded")->as_string()) << text;
        EXPECT_EQ(streamed(*tokenizer, ids), expected.find("decoded")->as_string()) << text;
    }
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, Goldens,
                         ::testing::Values("byte-level-bpe-gpt2", "split-regex-bpe-llama3", "byte-fallback-bpe-llama2",
                                           "unigram-t5", "wordpiece-bert", "sentencepiece-bpe",
                                           "sentencepiece-unigram"),
                         [](const auto& info) {
                             std::string name = info.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

}  // namespace
}  // namespace tessera::tokenizers
