// A model's tokenizer is found in one place, whatever form the model comes in and whoever asks: text goes through the
// same one in generate, and it goes along with what convert, finetune and merge write.
#include <gtest/gtest.h>

#include <fstream>

#include "cli/program.h"
#include "support/goldens.h"
#include "support/quantised_gguf.h"
#include "support/temporary_folder.h"
#include "tessera/formats/json.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using testing::expect_refusal;
using testing::expect_success;

const char* const llama_of_1100_tokens =
    R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 1100, "hidden_size": 32,
    "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64,
    "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": 2})";

class TokenizerPlace : public ::testing::Test {
   protected:
    TokenizerPlace() {
        folder_.write("config.json", llama_of_1100_tokens);
        expect_success({"init", at("config.json"), at("model")});
        std::string text;
        for (int i = 0; i < 60; ++i) text += text_of("Line ", i, " of a small book.\n");
        folder_.write("book.txt", text);
    }
    std::string at(const std::string& name) const { return folder_ / name; }
    void put_tokenizer_into(const std::string& name) const {
        fs::create_directories(at(name));
        fs::copy_file(fs::path(testing::golden_path("tokenizers")) / "byte-fallback-bpe-llama2/tokenizer.json",
                      fs::path(at(name)) / "tokenizer.json");
    }
    static std::string tokens_by(const std::string& tokenizer) {
        return expect_success({"tokenize", tokenizer, "A small Line 3", "--json"}).out;
    }
    std::vector<std::string> finetune(const std::string& model, const std::string& out) const {
        return {"finetune", model, at("book.txt"), "-o", out, "steps=1", "batch=1", "data.length=16"};
    }
    // Everything that reads or writes the model uses the tokenizer of `place`.
    void expect_everywhere(const std::string& model, const std::string& place) const {
        const std::string expected = tokens_by(place);
        const auto text = [&](const std::string& from, const std::vector<std::string>& more) {
            std::vector<std::string> words{"generate", from, "Line 3", "--max-new", "4"};
            words.insert(words.end(), more.begin(), more.end());
            return expect_success(words).out;
        };
        EXPECT_EQ(text(model, {}), text(model, {"--tokenizer", place}));
        expect_success({"convert", model, at("converted"), "--dtype", "f32"});
        EXPECT_EQ(tokens_by(at("converted")), expected);
        std::vector<std::string> words = finetune(model, at("tuned"));
        words.insert(words.end(), {"--lora", "r=2"});
        expect_success(words);
        EXPECT_EQ(tokens_by(at("tuned")), expected);
        expect_success({"merge", at("tuned"), "-o", at("merged")});
        EXPECT_EQ(tokens_by(at("merged")), expected);
        // Adapters that leave it to their base.
        fs::remove(at("tuned/tokenizer.json"));
        expect_success({"merge", at("tuned"), "-o", at("merged"), "--overwrite"});
        EXPECT_EQ(tokens_by(at("merged")), expected);
        EXPECT_EQ(text(at("tuned"), {}), text(at("tuned"), {"--tokenizer", place}));
    }
    testing::TemporaryFolder folder_;
};

TEST_F(TokenizerPlace, OfAFolder) {
    put_tokenizer_into("model");
    expect_everywhere(at("model"), at("model"));
}

TEST_F(TokenizerPlace, OfAGgufWithoutOneInside) {
    put_tokenizer_into("files");
    testing::write_quantised_gguf(at("model"), at("files/base.gguf"));
    expect_everywhere(at("files/base.gguf"), at("files"));
}

TEST_F(TokenizerPlace, OfAFileOfLlama2c) {
    fs::create_directories(at("files"));
    testing::Bytes weights, tokenizer;
    constexpr std::int32_t width = 8, hidden = 12, tokens = 262, context = 64;
    for (const std::int32_t size : {width, hidden, 1, 2, 2, tokens, context}) testing::append(weights, size);
    const std::int32_t floats = tokens * width + 3 * width + 4 * width * width + 3 * width * hidden + context * 4;
    for (std::int32_t i = 0; i < floats; ++i) testing::append(weights, 0.01F * static_cast<float>(i % 7));
    testing::append<std::int32_t>(tokenizer, 8);
    for (int id = 0; id < tokens; ++id) {
        const std::string piece = id < 3 ? text_of("<", id, ">") : std::string(1, static_cast<char>(id - 3));
        const std::string text = id < 259 ? piece : std::string(static_cast<std::size_t>(id - 258), ' ');
        testing::append<float>(tokenizer, 0);
        testing::append<std::int32_t>(tokenizer, static_cast<std::int32_t>(text.size()));
        for (const char c : text) testing::append<char>(tokenizer, c);
    }
    for (const auto& [name, bytes] : {std::pair{"files/stories.bin", weights}, {"files/tok262.bin", tokenizer}})
        folder_.write(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    expect_everywhere(at("files/stories.bin"), at("files/tok262.bin"));
    folder_.write("files/tok9.bin", "another");
    expect_refusal(1, {"generate", at("files/stories.bin"), "a"}, {"stories.bin", "two tokenizers"});
    expect_refusal(1, {"convert", at("files/stories.bin"), at("x")}, {"stories.bin", "two tokenizers"});
    expect_refusal(1, finetune(at("files/stories.bin"), at("x")), {"stories.bin", "two tokenizers"});
    expect_success({"generate", at("files/stories.bin"), "--ids", "5,6", "--max-new", "2"});
}

TEST_F(TokenizerPlace, WhereThereIsNoneTheOptionIsNamed) {
    testing::write_quantised_gguf(at("model"), folder_ / "base.gguf");
    for (const std::string& model : {at("model"), at("base.gguf")}) {
        expect_refusal(1, {"generate", model, "a"}, {"tokenizer", "--tokenizer"});
        expect_refusal(1, {"score", model, at("book.txt")}, {"tokenizer", "--tokenizer"});
        expect_refusal(1, {"embed", model, "a"}, {"tokenizer"});  // which has no such option
        EXPECT_EQ(testing::run_program({"embed", model, "a"}).err.find("--tokenizer"), std::string::npos);
    }
    expect_success({"convert", at("base.gguf"), at("plain"), "--dtype", "f32"});
    EXPECT_FALSE(fs::exists(at("plain/tokenizer.json")));
}

}  // namespace
}  // namespace tessera
