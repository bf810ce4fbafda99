// tessera tokenizer train, as a person would run it.
#include <gtest/gtest.h>

#include "cli/program.h"
#include "support/temporary_folder.h"
#include "tessera/formats/json.h"

namespace tessera::testing {
namespace {

TEST(TokenizerCommand, TrainsWhatTokenizeReads) {
    const TemporaryFolder folder;
    std::string text;
    for (int i = 0; i < 30; ++i) text += "the cat sat on the mat\n";
    const std::string corpus = folder.write("corpus.txt", text).string(), out = (folder / "out").string();
    const Answer answer = expect_success({"tokenizer", "train", "--kind", "bpe", "--vocab", "270", corpus, corpus,
                                          "--special", "<x>", "-o", out, "--json"});
    const formats::Json json = formats::Json::parse(answer.out, "answer");
    EXPECT_EQ(json.find("tokens")->as_integer(), 270);
    EXPECT_EQ(json.find("kind")->as_string(), "bpe");
    const formats::Json tokens =
        formats::Json::parse(expect_success({"tokenize", out, "the mat<x>", "--json"}).out, "tokens");
    EXPECT_EQ(tokens.find("decoded")->as_string(), "the mat<x>");
    EXPECT_LT(tokens.find("ids")->items().size(), 8u);
}

TEST(TokenizerCommand, Refuses) {
    const TemporaryFolder folder;
    const std::string corpus = folder.write("corpus.txt", "some text").string(), out = (folder / "out").string();
    expect_refusal(1, {"tokenizer", "train", "--kind", "magic", corpus, "-o", out}, {"magic", "wordpiece"});
    expect_refusal(1, {"tokenizer", "train", (folder / "none").string(), "-o", out}, {"none"});
    expect_refusal(1, {"tokenizer", "train", "--vocab", "9", corpus, "-o", out}, {"257", "9"});
    expect_refusal(2, {"tokenizer", "train", corpus}, {"-o DIR"});
    EXPECT_EQ(run_program({"tokenizer"}).status, 2);
    EXPECT_EQ(run_program({"tokenizer", "--help"}).status, 0);
    EXPECT_NE(expect_success({"tokenizer", "train", "--help"}).out.find("tessera tokenizer train"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace tessera::testing
