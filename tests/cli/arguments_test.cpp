// What a person may type: aliases, misspelt names, numbers that are none, and what --help says.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/program.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/formats/json.h"

namespace tessera {
namespace {

using testing::Answer;
using testing::expect_refusal;
using testing::expect_success;

using Words = std::vector<std::string>;

class TypedArguments : public ::testing::Test {
   protected:
    TypedArguments() {
        folder_.write("config.json", R"({"model_type": "llama", "vocab_size": 1100, "hidden_size": 32,
            "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64, "bos_token_id": 1,
            "eos_token_id": 2, "max_position_embeddings": 64})");
        expect_success({"init", folder_ / "config.json", model_});
        std::filesystem::copy_file(testing::golden_path("tokenizers/byte-fallback-bpe-llama2/tokenizer.json"),
                                   model_ + "/tokenizer.json");
    }
    testing::TemporaryFolder folder_;
    std::string model_ = folder_ / "model";
};

// The names of all commands, as the greeting lists them.
Words command_names() {
    Words names;
    std::istringstream lines(expect_success({}).out);
    const std::string begin = "  tessera ";
    for (std::string line; std::getline(lines, line);) {
        const std::string name =
            line.starts_with(begin) ? line.substr(begin.size(), line.find(' ', begin.size()) - begin.size()) : "";
        if (!name.empty() && name != "help" && !name.starts_with('-')) names.push_back(name);
    }
    EXPECT_GE(names.size(), 20U);
    return names;
}

TEST_F(TypedArguments, AliasesMeanTheSame) {
    const std::string file = folder_.write("prompt.txt", "Hello\n");
    const std::string expected = expect_success({"generate", model_, "Hello", "--max-new", "5"}).out;
    for (const Words& words :
         std::initializer_list<Words>{{"-m", model_, "-p", "Hello", "-n", "5"},
                                      {"-p", "Hello", "-n5", "-m" + model_},
                                      {"Hello", "--model=" + model_, "--max_new_tokens", "5"},
                                      {"--prompt=Hello", "--max-tokens=5", "--model", model_},
                                      {model_, "-f", file, "--n_predict", "5", "-t", "2"},
                                      {"--file", file, "-m", model_, "--predict", "5"},
                                      {model_, "Hello", "-n", "5", "--num-beams", "1"},
                                      {model_, "Hello", "-n", "5", "--ctx-size", "64"},
                                      {model_, "Hello", "-n", "5", "--temp", "0", "--top_p=0.9"}}) {
        Words arguments{"generate"};
        arguments.insert(arguments.end(), words.begin(), words.end());
        EXPECT_EQ(expect_success(arguments).out, expected) << words[0] << " " << words[1];
    }
    folder_.write("book.txt", "A small book about birds that sat on a wire and flew away again.\n");
    const std::string book = folder_ / "book.txt";
    EXPECT_EQ(expect_success({"score", model_, "-f", book}).out, expect_success({"score", model_, book}).out);
    expect_refusal(2, {"score", model_, book, "--file", book}, {"one file"});
    expect_refusal(2, {"score", model_}, {"FILE is missing"});
    expect_success({"finetune", model_, book, "data.length=8", "--learning-rate", "1e-3", "--num-train-epochs", "1",
                    "-o", folder_ / "run"});
    const Words sampled{"generate", model_, "Hello", "--max-new", "5", "--temperature", "1.5", "--seed", "4"};
    EXPECT_EQ(expect_success({"generate", model_, "Hello", "-n", "5", "--temp", "1.5", "-s", "4"}).out,
              expect_success(sampled).out);
}

TEST_F(TypedArguments, ValuesStayAsTheyAre) {
    // Underscores of texts, texts that look like options, and what stands after --.
    expect_success({"generate", model_, "--stop", "--max_new", "-n", "2", "Hello"});
    const auto ids = [&](const Words& text) {
        Words arguments{"tokenize", model_, "--json"};
        arguments.insert(arguments.end(), text.begin(), text.end());
        return expect_success(arguments).out;
    };
    EXPECT_EQ(ids({"--", "--top_p"}), ids({"-p", "--top_p"}));
    EXPECT_NE(ids({"-p", "--top_p"}), ids({"-p", "--top-p"}));
    EXPECT_EQ(ids({"-p", "[a, b]"}), ids({"[a, b]"}));
}

TEST_F(TypedArguments, MisspeltNamesAreCorrected) {
    expect_refusal(2, {"generat"}, {"'generat'", "did you mean 'generate'"});
    expect_refusal(2, {"tokenise"}, {"did you mean 'tokenize'"});
    expect_refusal(2, {"help", "trian"}, {"did you mean 'train'"});
    expect_refusal(2, {"--halp"}, {"'--halp'", "did you mean '--help'"});
    expect_refusal(2, {"--verson"}, {"did you mean '--version'"});
    expect_refusal(2, {"xyzzy"}, {"'xyzzy'", "generate, chat"});
    expect_refusal(2, {"generate", model_, "--temprature", "1"}, {"'--temprature'", "did you mean '--temperature'"});
    expect_refusal(2, {"generate", "--temprature=1", model_}, {"did you mean '--temperature'"});
    expect_refusal(2, {"generate", model_, "x", "--max_nw", "1"}, {"did you mean '--max-new'"});
    expect_refusal(2, {"inspect", "--jsno"}, {"did you mean '--json'"});
    expect_refusal(2, {"ops", "--jsno"}, {"did you mean '--json'"});
    expect_refusal(2, {"inspect", "a", "b"}, {"'b'", "too many"});
    expect_refusal(2, {"tokenizer", "tran"}, {"did you mean 'train'"});
    expect_refusal(2, {"scenes", "prevew"}, {"did you mean 'preview'"});
    expect_refusal(2,
                   {"x\xc2\x9b"
                    "31m\xe2\x80\xae"},
                   {"x\\x9b31m\\u202e"});
    expect_refusal(2, {std::string(100000, 'x')}, {"xxx"});
}

TEST_F(TypedArguments, OnlyNearNamesAreSuggested) {
    const auto said = [](const Words& words) { return testing::run_program(words).err; };
    for (const char* word : {"nope", "serve", "run", "quit", "x"})
        EXPECT_EQ(said({word}).find("did you mean"), std::string::npos) << said({word});
    for (const char* word : {"version", "--ver", "--vers"})
        EXPECT_NE(said({word}).find("did you mean '--version'"), std::string::npos) << said({word});
    EXPECT_NE(said({"inspect", "llama3-8b"}).find("did you mean 'llama-3-8b'"), std::string::npos);
    EXPECT_NE(said({"inspect", "nothing-of-the-kind"}).find("inspect --list"), std::string::npos);
}

TEST_F(TypedArguments, WhatWouldBePassedOverIsRefused) {
    expect_refusal(2, {"help", "score", "extra"}, {"'extra'", "too many"});
    expect_refusal(2, {"help", "scenes", "score", "extra"}, {"'extra'", "too many"});
    EXPECT_EQ(expect_success({"help", "scenes", "score"}).out, expect_success({"scenes", "score", "--help"}).out);
    expect_refusal(2, {"--version", "extra"}, {"'extra'", "too many"});
    EXPECT_EQ(expect_success({"--help", "score"}).out, expect_success({"score", "--help"}).out);
    expect_refusal(2, {"ops", "--json=yes"}, {"--json", "takes no value", "'yes'"});
    expect_refusal(2, {"inspect", model_, "--json=false"}, {"--json", "'false'"});
}

TEST_F(TypedArguments, ErrorsSpeakOfWhatWasTyped) {
    folder_.write("text.txt", "some words to learn from\n");
    const Answer device =
        testing::run_program({"finetune", model_, folder_ / "text.txt", "device=gpu", "-o", folder_ / "out"});
    EXPECT_EQ(device.status, 1);
    EXPECT_NE(device.err.find("device: 'gpu' is neither cpu nor cuda"), std::string::npos) << device.err;
    EXPECT_EQ(device.err.find("--device"), std::string::npos) << device.err;
    // What a model cannot do is told before what it would have needed for it.
    const std::string vit = testing::golden_path("vit"), text = folder_ / "text.txt";
    expect_refusal(1, {"score", vit, text}, {"a vit ", "classifies images", "does not score"});
    expect_refusal(1, {"embed", vit, "a"}, {"does not embed texts"});
    expect_refusal(1, {"fill", vit, "a"}, {"does not fill masked tokens"});
    expect_refusal(1, {"translate", vit, "a"}, {"does not read one text and write another"});
    expect_refusal(1, {"score", model_, folder_.write("empty.txt", "")}, {"empty.txt", "is empty"});
    expect_refusal(1, {"generate", model_, "x", "--max-new", "-1"}, {"--max-new: expected 1 or more"});
}

TEST_F(TypedArguments, OneIsNoPlural) {
    EXPECT_NE(expect_success({"embed", model_, "x", "-o", folder_ / "x.npy"}).out.find("1 vector of 32 numbers"),
              std::string::npos);
    EXPECT_NE(expect_success({"embed", model_, "x", "y", "-o", folder_ / "y.npy"}).out.find("2 vectors"),
              std::string::npos);
    const std::string score = expect_success({"score", model_, folder_.write("one.txt", "a")}).out;
    EXPECT_EQ(score.find("1 bytes"), std::string::npos) << score;
    EXPECT_NE(score.find("over 1 byte,"), std::string::npos) << score;
}

TEST_F(TypedArguments, NumbersAreWholeTexts) {
    for (const char* value : {"many", "1.5", "0x10", "1e3", "", " 1", "3 ", "nan", "--"})
        expect_refusal(2, {"generate", model_, "x", "--max-new", value}, {"--max-new", "whole number", value});
    expect_refusal(2, {"generate", model_, "x", "--top-k", "99999999999999999999"},
                   {"--top-k", "99999999999999999999"});
    for (const char* value : {"hot", "nan", "inf", "1,5", ""})
        expect_refusal(2, {"generate", model_, "x", "--temperature", value}, {"--temperature", value});
    expect_refusal(2, {"generate", model_, "x", "--temperature", "1e999"}, {"--temperature", "1e999"});
    expect_refusal(2, {"generate", model_, "x", "-n"}, {"--max-new", "missing"});
    expect_refusal(2, {"generate", model_, "x", "-n", "1", "-n", "2"}, {"--max-new", "twice"});
    expect_refusal(2, {"generate", "-m"}, {"-m", "missing"});
    for (const char* value : {"0", "-1", "100000", "9223372036854775807"})
        expect_refusal(2, {"generate", model_, "x", "--threads", value}, {"--threads", value});
    expect_success({"generate", model_, "x", "-n", "+2"});
}

TEST_F(TypedArguments, ASeedWithoutEffectIsTold) {
    const auto told = [&](const Words& more) {
        Words arguments{"generate", model_, "Hello", "-n", "3"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return expect_success(arguments).err.find("--seed has no effect") != std::string::npos;
    };
    EXPECT_TRUE(told({"--seed", "3"}));
    EXPECT_TRUE(told({"--seed", "3", "--greedy"}));
    EXPECT_TRUE(told({"--seed", "3", "--temperature", "0"}));
    EXPECT_TRUE(told({"--seed", "3", "--beams", "2"}));
    EXPECT_FALSE(told({"--seed", "3", "--temperature", "0.5"}));
    EXPECT_FALSE(told({}));
}

TEST(Help, IsTheSameBothWays) {
    for (const std::string& command : command_names())
        EXPECT_EQ(expect_success({"help", command}).out, expect_success({command, "--help"}).out);
    EXPECT_EQ(expect_success({"help", "scenes", "write"}).out, expect_success({"scenes", "write", "-h"}).out);
}

// Each option that takes a value says what it is without it.
TEST(Help, TellsWhatHappensWithoutAnOption) {
    std::vector<Words> pages;
    for (const std::string& command : command_names()) pages.push_back({command});
    for (const char* name : {"preview", "write", "texts", "score"}) pages.push_back({"scenes", name});
    pages.push_back({"tokenizer", "train"});
    int options = 0;
    for (Words page : pages) {
        page.emplace_back("--help");
        std::istringstream lines(expect_success(page).out);
        std::string entry;
        const auto check_entry = [&] {
            const std::size_t name = entry.find("--");
            const std::size_t end = name == entry.npos ? entry.npos : entry.find(' ', name);
            const bool takes_a_value = end != entry.npos && end + 1 < entry.size() && entry[end + 1] != ' ';
            if (!entry.starts_with("  -") || !takes_a_value) return;
            ++options;
            const bool tells = entry.find("default") != entry.npos || entry.find("needed") != entry.npos ||
                               entry.find("repeated") != entry.npos || entry.find("otherwise") != entry.npos;
            EXPECT_TRUE(tells) << page[0] << ": " << entry;
        };
        for (std::string line; std::getline(lines, line);) {
            EXPECT_LE(line.size(), 130U) << line;
            if (line.starts_with("   ")) {
                entry += line;
                continue;
            }
            check_entry();
            entry = line;
        }
    }
    EXPECT_GT(options, 80);
}

}  // namespace
}  // namespace tessera
