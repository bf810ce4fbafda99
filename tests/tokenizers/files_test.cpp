// Every kind of file that holds a tokenizer, in folders made here, and what stands beside them.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/gguf_builder.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/core/error.h"
#include "tessera/formats/json.h"
#include "tessera/tokenizers/sentencepiece/byte_pieces.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::tokenizers {
namespace {

namespace fs = std::filesystem;
using testing::append;
using testing::Bytes;
using testing::expect_error;
using testing::GgufBuilder;
using testing::TemporaryFolder;

TEST(Files, MergesAndVocabularyAreByteLevel) {
    const TemporaryFolder folder;
    folder.write("vocab.json",
                 R"({"a": 0, "b": 1, "ab": 2, "Ġ": 3, "Ġab": 4, "<|endoftext|>": 5, "<s>": 6, "</s>": 7})");
    expect_error([&] { open_tokenizer(folder.path()); }, {"merges.txt", "is missing"});
    folder.write("merges.txt", "#version: 0.2\na b\r\n\xC4\xA0 ab\n");
    EXPECT_EQ(open_tokenizer(folder.path())->encode("ab ab<|endoftext|>"), (Ids{2, 4, 5}));
    folder.write(
        "tokenizer_config.json",
        R"({"add_prefix_space": true, "add_bos_token": true, "bos_token": {"content": "<s>"}, "eos_token": "</s>"})");
    const auto tokenizer = open_tokenizer(folder.path());
    EXPECT_EQ(tokenizer->encode("ab"), (Ids{6, 4}));
    EXPECT_EQ(tokenizer->special.bos, 6);
    EXPECT_EQ(tokenizer->special.eos, 7);
    EXPECT_EQ(tokenizer->special.padding, std::nullopt);
    folder.write("special_tokens_map.json",
                 R"({"cls_token": "<s>", "sep_token": {"content": "</s>", "lstrip": false}})");
    EXPECT_EQ(open_tokenizer(folder / "vocab.json")->encode_pair("ab", "ab"), (Ids{6, 4, 7, 7, 4, 7}));
    folder.write("merges.txt", "a b c\n");
    expect_error([&] { open_tokenizer(folder.path()); }, {"merges.txt: line 1", "expected two tokens"});
}

TEST(Files, AWordListIsWordPiece) {
    const TemporaryFolder folder;
    const fs::path file = folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nHe\n##y\nhe\n!\ne\n");
    const auto tokenizer = open_tokenizer(file);
    EXPECT_EQ(tokenizer->encode("Hey! [MASK] x"), (Ids{2, 7, 6, 8, 4, 1, 3}));
    EXPECT_EQ(tokenizer->encode_pair("he", "\xC3\xA9"), (Ids{2, 7, 3, 9, 3}));
    EXPECT_EQ(tokenizer->decode(tokenizer->encode("Hey!"), true), "hey!");
    folder.write("tokenizer_config.json", R"({"do_lower_case": false, "mask_token": "[MASK]"})");
    EXPECT_EQ(open_tokenizer(folder.path())->encode("Hey", false), (Ids{5, 6}));
    EXPECT_EQ(open_tokenizer(folder.path())->special.mask, 4);
}

TEST(Files, RanksMergeByThemselves) {
    const TemporaryFolder folder;
    // a b c ab bc abc by rank; "YWI=" is "ab".
    folder.write("tokenizer.model", "YQ== 0\nYg== 1\nYw== 2\nYmM= 3\nYWI= 4\nIA== 5\n");
    folder.write("tokenizer_config.json",
                 R"({"added_tokens_decoder": {"9": {"content": "<e>", "special": true}}, "eos_token": "<e>"})");
    const auto tokenizer = open_tokenizer(folder.path());
    EXPECT_EQ(tokenizer->encode("abc<e> ab"), (Ids{0, 3, 9, 5, 4}));
    EXPECT_EQ(tokenizer->special.eos, 9);
    EXPECT_EQ(tokenizer->decode(Ids{0, 3, 9, 5, 4}, true), "abc ab");
    folder.write("x.tiktoken", "YQ== 0\n* 1\n");
    expect_error([&] { open_tokenizer(folder / "x.tiktoken"); }, {"x.tiktoken: line 2"});
}

TEST(Files, AFolderSaysMoreOfSentencePiece) {
    const TemporaryFolder folder;
    fs::copy(testing::golden_path("tokenizers/sentencepiece-bpe/tokenizer.model"), folder / "tokenizer.model");
    const Ids plain = open_tokenizer(folder.path())->encode("</s>", false);
    EXPECT_GT(plain.size(), 1u);  // a bare model knows pieces only
    folder.write(
        "tokenizer_config.json",
        R"({"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": false, "add_eos_token": true, "chat_template": "{{ x }}",
                     "added_tokens_decoder": {"5000": {"content": "<|new|>", "special": false}}})");
    const auto tokenizer = open_tokenizer(folder.path());
    EXPECT_EQ(tokenizer->encode("</s><|new|>"), (Ids{2, 5000, 2}));
    EXPECT_EQ(tokenizer->decode(Ids{2, 5000}, true), "<|new|>");
    EXPECT_EQ(tokenizer->size(), 5001);
    EXPECT_EQ(tokenizer->chat_template, "{{ x }}");
    folder.write("chat_template.jinja", "{{ y }}");
    EXPECT_EQ(open_tokenizer(folder.path())->chat_template, "{{ y }}");
    folder.write("tokenizer.model", "\x0A\x7F");
    expect_error([&] { open_tokenizer(folder.path()); }, {"tokenizer.model", "needs 127 bytes"});
}

// None of a folder's files may be a link out of it, whoever reads or copies them.
TEST(Files, LinksOutOfTheFolderAreNotFollowed) {
    const TemporaryFolder folder, outside;
    const std::string secret = outside.write("secret", "of this machine");
    for (const char* name :
         {"tokenizer.json", "tokenizer.model", "vocab.json", "merges.txt", "vocab.txt", "tokenizer_config.json",
          "special_tokens_map.json", "added_tokens.json", "chat_template.jinja"}) {
        const TemporaryFolder model, copy;
        fs::copy(testing::golden_path("tokenizers/sentencepiece-bpe/tokenizer.model"), model / "tokenizer.model");
        fs::remove(model / name);
        fs::create_symlink(secret, model / name);
        expect_error(
            [&] {
                open_tokenizer(model.path());
                copy_tokenizer(model.path(), copy.path());
            },
            {name, "a link out of the folder", "secret"});
        EXPECT_FALSE(fs::exists(copy / name)) << name;
    }
    // A file that is named itself may be one; what lies beside it may not.
    folder.write("vocab.json", R"({"a": 0})");
    fs::create_symlink(secret, folder / "merges.txt");
    expect_error([&] { open_tokenizer(folder / "vocab.json"); }, {"merges.txt", "a link out of the folder"});
    const TemporaryFolder links;
    const fs::path target = testing::golden_path("tokenizers/sentencepiece-bpe/tokenizer.model");
    fs::create_symlink(target, links / "mine.model");
    fs::create_directory_symlink(target.parent_path(), links / "folder");
    EXPECT_EQ(open_tokenizer(links / "mine.model")->size(), open_tokenizer(links / "folder")->size());
}

TEST(Files, WhatIsNoTokenizerIsRefused) {
    const TemporaryFolder folder;
    expect_error([&] { open_tokenizer(folder.path()); }, {"holds no tokenizer", "tokenizer.json"});
    expect_error([&] { open_tokenizer(folder / "absent"); }, {"absent", "no such file"});
    expect_error([&] { open_tokenizer(folder.write("x.bmp", "BM")); }, {"x.bmp", "no kind of tokenizer file"});
    folder.write("tokenizer.json", "{");
    expect_error([&] { open_tokenizer(folder.path()); }, {"tokenizer.json", "column 2"});
}

GgufBuilder byte_level_gguf(const std::string& pre) {
    GgufBuilder builder;
    builder.set("tokenizer.ggml.model", "gpt2").set("tokenizer.ggml.pre", pre);
    builder.set_array("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab", "1", "11", "<e>"});
    builder.set_array("tokenizer.ggml.token_type", std::vector<std::int32_t>{1, 1, 1, 1, 1, 3});
    builder.set_array("tokenizer.ggml.merges", std::vector<std::string>{"a b", "1 1"});
    builder.set("tokenizer.ggml.bos_token_id", std::uint32_t{5}).set("tokenizer.chat_template", "{{ z }}");
    return builder;
}

std::shared_ptr<const Tokenizer> opened(const GgufBuilder& builder) {
    const TemporaryFolder folder;
    builder.write(folder / "model.gguf");
    return open_tokenizer(folder / "model.gguf");
}

// A tokenizer is the same in a folder that it was put into.
void expect_the_same_in_a_folder(const fs::path& file) {
    const TemporaryFolder folder;
    copy_tokenizer(file, folder.path());
    const auto before = open_tokenizer(file), after = open_tokenizer(folder.path());
    EXPECT_EQ(after->size(), before->size());
    EXPECT_EQ(after->special.bos, before->special.bos);
    EXPECT_EQ(after->special.eos, before->special.eos);
    EXPECT_EQ(after->chat_template, before->chat_template);
    for (const char* text : {"", "a", "ab11<e>", "a a  b", " ab</s>a", "aa11b\nab", "1111 11", "ab\xC3\xA9"}) {
        EXPECT_EQ(after->encode(text), before->encode(text)) << text;
        EXPECT_EQ(after->encode(text, false), before->encode(text, false)) << text;
        EXPECT_EQ(after->decode(after->encode(text)), before->decode(before->encode(text))) << text;
    }
}

TEST(Gguf, HoldsByteLevelTokenizers) {
    EXPECT_EQ(opened(byte_level_gguf("gpt-2"))->encode("ab11<e>"), (Ids{2, 4, 5}));
    EXPECT_EQ(opened(byte_level_gguf("llama-bpe"))->encode("ab11"), (Ids{5, 2, 4}));  // begins a text by default
    EXPECT_EQ(opened(byte_level_gguf("qwen2"))->encode("ab11"), (Ids{2, 3, 3}));      // digits one by one
    EXPECT_EQ(opened(byte_level_gguf("gpt-2"))->chat_template, "{{ z }}");
    expect_error([] { opened(byte_level_gguf("unheard")); }, {"model.gguf", "tokenizer.ggml.pre", "unheard"});
}

TEST(Gguf, ByteLevelTokenizersGoIntoFolders) {
    for (const char* pre :
         {"gpt-2", "llama-bpe", "qwen2", "tekken", "gpt-4o", "deepseek-v3", "starcoder", "falcon", ""}) {
        const TemporaryFolder folder;
        byte_level_gguf(pre).write(folder / "model.gguf");
        expect_the_same_in_a_folder(folder / "model.gguf");
        byte_level_gguf(pre).set("tokenizer.ggml.add_bos_token", true).write(folder / "begins.gguf");
        expect_the_same_in_a_folder(folder / "begins.gguf");
    }
}

TEST(Gguf, HoldsPiecesWithScores) {
    GgufBuilder builder;
    std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
    std::vector<std::int32_t> types = {2, 3, 3};
    for (int byte = 0; byte < 256; ++byte) {
        tokens.push_back(piece_of_byte(byte));
        types.push_back(6);
    }
    for (const char* piece : {"\xE2\x96\x81", "a",
                              "\xE2\x96\x81"
                              "a"}) {
        tokens.push_back(piece);
        types.push_back(1);
    }
    tokens.push_back("[PAD]");  // as vocabularies are filled up
    types.push_back(2);
    builder.set("tokenizer.ggml.model", "llama").set_array("tokenizer.ggml.tokens", tokens);
    builder.set_array("tokenizer.ggml.token_type", types);
    builder.set_array("tokenizer.ggml.scores", std::vector<float>(tokens.size(), -1));
    builder.set("tokenizer.ggml.bos_token_id", std::uint32_t{1}).set("tokenizer.ggml.eos_token_id", std::uint32_t{2});
    const TemporaryFolder folder;
    builder.write(folder / "model.gguf");
    expect_the_same_in_a_folder(folder / "model.gguf");
    const auto tokenizer = opened(builder);
    EXPECT_EQ(tokenizer->encode("a az</s>"), (Ids{1, 261, 261, 3 + 'z', 2}));
    EXPECT_EQ(tokenizer->decode(Ids{1, 261, 261, 3 + 'z', 2}, true), "a az");
}

TEST(Llama2c, ReadsScoredPiecesWithSpacesAsTheyAre) {
    Bytes file;
    append<std::int32_t>(file, 8);
    const auto add = [&](const std::string& text, float score) {
        append<float>(file, score);
        append<std::int32_t>(file, static_cast<std::int32_t>(text.size()));
        for (const char c : text) append<char>(file, c);
    };
    for (const char* text : {"<unk>", "\n<s>\n", "\n</s>\n"}) add(text, 0);
    for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)), 0);
    for (const auto& [text, score] : {std::pair{" ", -9.f}, {"a", -9.f}, {"b", -9.f}, {" a", -3.f}, {"ab", -2.f}})
        add(text, score);
    const TemporaryFolder folder;
    folder.write("tok9.bin", {reinterpret_cast<const char*>(file.data()), file.size()});
    const auto tokenizer = open_tokenizer(folder / "tok9.bin");
    EXPECT_EQ(tokenizer->encode("ab a\xC3\xA9"), (Ids{1, 259, 263, 262, 3 + 0xC3, 3 + 0xA9}));
    EXPECT_EQ(tokenizer->decode(Ids{1, 259, 263, 262, 3 + 0xC3, 3 + 0xA9}), "ab a\xC3\xA9");
    EXPECT_EQ(tokenizer->encode(""), (Ids{1}));
    expect_the_same_in_a_folder(folder / "tok9.bin");
    // Named by the weights beside it.
    EXPECT_EQ(open_tokenizer(folder.write("stories.bin", "x"))->size(), 264);
    folder.write("tokenizer.bin", "y");
    expect_error([&] { open_tokenizer(folder / "stories.bin"); }, {"two tokenizers lie beside it"});
}

}  // namespace
}  // namespace tessera::tokenizers
