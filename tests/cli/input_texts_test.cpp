// Where texts come from: files, standard input, pipes; and what is no text, wherever it comes from.
#include <gtest/gtest.h>

#include "cli/program.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/core/error.h"

namespace tessera {
namespace {

using testing::Answer;
using testing::expect_refusal;
using testing::expect_success;
using testing::run_in_shell;
using testing::run_program;

using Words = std::vector<std::string>;

class InputTexts : public ::testing::Test {
   protected:
    InputTexts() {
        folder_.write("config.json", R"({"model_type": "llama", "vocab_size": 1100, "hidden_size": 32,
            "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64, "bos_token_id": 1,
            "eos_token_id": 2, "max_position_embeddings": 64})");
        expect_success({"init", folder_ / "config.json", model_});
        std::filesystem::copy_file(testing::golden_path("tokenizers/byte-fallback-bpe-llama2/tokenizer.json"),
                                   model_ + "/tokenizer.json");
        folder_.write("lines.txt", lines_);
    }

    testing::TemporaryFolder folder_;
    std::string model_ = folder_ / "model", lines_ = "A bird sat.\nTwo birds flew.\n", file_ = folder_ / "lines.txt";
};

TEST_F(InputTexts, ADashIsStandardInput) {
    const auto same = [&](const Words& from_file, const Words& from_input) {
        const Answer piped = run_program(from_input, lines_);
        EXPECT_EQ(piped.status, 0) << piped.err;
        EXPECT_EQ(piped.out, expect_success(from_file).out);
    };
    for (const char* source : {"-", "/dev/stdin"})
        same({"embed", model_, "-f", file_}, {"embed", model_, "-f", source});
    same({"tokenize", model_, "-f", file_}, {"tokenize", model_, "-f", "-"});
    const auto numbers_of = [](const std::string& line) { return line.substr(line.find(": ")); };
    const std::string scored = numbers_of(expect_success({"score", model_, file_}).out);
    for (const Words& more : std::initializer_list<Words>{{"-"}, {"-f", "-"}, {"/dev/stdin"}}) {
        Words words{"score", model_};
        words.insert(words.end(), more.begin(), more.end());
        const Answer piped = run_program(words, lines_);
        EXPECT_EQ(numbers_of(piped.out), scored) << piped.err;
    }
    EXPECT_TRUE(run_program({"score", model_, "-"}, lines_).out.starts_with("standard input: "));
}

TEST_F(InputTexts, PipesAreRead) {
    const std::string a = folder_ / "a", b = folder_ / "b", c = folder_ / "c", pipe = folder_ / "pipe";
    const auto score = [&](const std::string& source, const std::string& out) {
        return text_of("$TESSERA score ", model_, " ", source, " --json >", out);
    };
    ASSERT_EQ(run_in_shell(score(file_, a)), 0);
    ASSERT_EQ(run_in_shell(text_of("cat ", file_, " | ", score("/dev/stdin", b))), 0);
    ASSERT_EQ(run_in_shell(text_of("mkfifo ", pipe, " && { cat ", file_, " >", pipe, " & ", score(pipe, c), "; }")), 0);
    EXPECT_EQ(folder_.read("b"), folder_.read("a"));
    EXPECT_EQ(folder_.read("c"), folder_.read("a"));
}

TEST_F(InputTexts, WhatIsNoUtf8IsRefusedByFileAndLine) {
    const std::string latin = folder_.write("latin.txt", "one\ntwo\ncaf\xe9 three\nfour\n");
    for (const char* command : {"score", "embed", "tokenize"})
        expect_refusal(1, {command, model_, "-f", latin}, {"latin.txt: line 3", "UTF-8"});
    for (const char* command : {"score", "embed"}) {
        const Answer piped = run_program({command, model_, "-"}, "one\ncaf\xe9\n");
        EXPECT_EQ(piped.status, 1);
        EXPECT_NE(piped.err.find("standard input: line 2: is no text: expected UTF-8"), std::string::npos) << piped.err;
    }
    for (const char* command : {"embed", "tokenize", "score"})
        EXPECT_EQ(run_program({command, model_, "-"}, std::string("a\0b", 3)).status, 1) << command;
    expect_refusal(1, {"tokenize", model_, "caf\xe9"}, {"TEXT", "UTF-8"});
    expect_refusal(1, {"embed", model_, "caf\xe9"}, {"text 1", "UTF-8"});
    expect_refusal(1, {"fill", testing::golden_path("bert-mlm"), "caf\xe9"}, {"UTF-8"});
    // A stream without an end is left at its first zero.
    expect_refusal(1, {"score", model_, "/dev/zero"}, {"/dev/zero", "is no text", "byte 0"});
    expect_refusal(1, {"score", model_, model_}, {"model", "folder"});
}

}  // namespace
}  // namespace tessera
