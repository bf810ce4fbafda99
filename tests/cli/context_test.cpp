// A model's context through the program: scoring, evaluating, training and writing keep to it, and say so.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/program.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/formats/json.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using formats::Json;
using testing::Answer;
using testing::expect_refusal;
using testing::expect_success;
using Words = std::vector<std::string>;

class Context : public ::testing::Test {
   protected:
    Context() {
        init("model", R"({"model_type": "llama", "vocab_size": 1100, "hidden_size": 32, "num_hidden_layers": 2,
            "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64,
            "max_position_embeddings": 32, "bos_token_id": 1, "eos_token_id": 2})");
        std::string text;
        for (int i = 0; i < 120; ++i)
            text += text_of("Line ", i, " of a small book says that ", i * i % 17, " birds sat on a wire.\n");
        folder_.write("book.txt", text);
    }

    void init(const std::string& name, const std::string& config) {
        Json::parse(config, "config").write(folder_ / "config.json");
        expect_success({"init", folder_ / "config.json", at(name)});
        fs::copy_file(fs::path(testing::golden_path("tokenizers")) / "byte-fallback-bpe-llama2/tokenizer.json",
                      at(name) + "/tokenizer.json");
    }
    std::string at(const std::string& name) const { return folder_ / name; }
    std::string book() const { return at("book.txt"); }

    static Json to_json(std::vector<std::string> arguments) {
        arguments.push_back("--json");
        return Json::parse(expect_success(arguments).out, "standard output");
    }
    static double number(const Json& json, const char* name) { return json.find(name)->as_number(); }
    static std::size_t tokens(const Json& result, std::size_t row = 0) {
        return result.find("tokens")->items()[row].items().size();
    }
    static std::string ending(const Json& result, std::size_t row = 0) {
        return result.find("answers")->items()[row].find("ending")->as_string();
    }

    testing::TemporaryFolder folder_;
};

TEST_F(Context, ScoreAndEvalAgreeAndRefuseMore) {
    expect_success(
        {"finetune", at("model"), book(), "-o", at("run"), "steps=60", "batch=4", "optimizer.learning_rate=0.01"});
    const Json recipe = Json::read(at("run") + "/recipe.json");
    EXPECT_EQ(recipe.find("data")->find("length")->as_integer(), 32);
    const double evaluated = number(to_json({"eval", at("run"), book()}), "perplexity");
    const double scored = number(to_json({"score", at("run"), book()}), "perplexity");
    EXPECT_NEAR(scored, evaluated, 0.2 * evaluated);  // score's windows overlap, eval's do not
    EXPECT_EQ(scored, number(to_json({"score", at("run"), book(), "--window", "32"}), "perplexity"));
    expect_refusal(1, {"score", at("run"), book(), "--window", "33"}, {"--window", "33", "32", "--beyond-context"});
    EXPECT_GT(number(to_json({"score", at("run"), book(), "--window", "300", "--beyond-context"}), "perplexity"),
              scored);
    expect_refusal(1, {"eval", at("run"), book(), "data.length=33"}, {"data.length", "33", "32", "beyond_context"});
    to_json({"eval", at("run"), book(), "data.length=64", "beyond_context=true"});
}

TEST_F(Context, TrainingPastItIsRefusedUnlessAskedFor) {
    const auto finetune = [&](const std::string& model, std::vector<std::string> more) {
        std::vector<std::string> words{"finetune", at(model), book(), "-o", at("out-" + model), "steps=2", "batch=2"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    };
    expect_refusal(1, finetune("model", {"data.length=64"}), {"data.length", "64", "32", "beyond_context=true"});
    expect_success(finetune("model", {"data.length=64", "beyond_context=true"}));
    to_json({"eval", at("out-model"), book()});  // at the model's length, not at the run's
    init("learned", R"({"model_type": "gpt2", "vocab_size": 1100, "n_embd": 32, "n_layer": 1, "n_head": 2,
        "n_positions": 32, "bos_token_id": 1, "eos_token_id": 2})");
    expect_refusal(1, finetune("learned", {"data.length=33", "beyond_context=true"}), {"data.length", "33", "32"});
    expect_success(finetune("learned", {}));
    const Answer keys = expect_success({"train", "--keys"});
    EXPECT_NE(keys.out.find("beyond_context"), keys.out.npos);
}

TEST_F(Context, GenerationEndsWithItAndSaysSo) {
    const std::string path = at("model");
    const auto generate = [&](std::vector<std::string> more, const char* most = "100") {
        std::vector<std::string> words{"generate",      path,        "--ids", "1,40,41,42,43", "--greedy",
                                       "--ignore-stop", "--max-new", most};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    };
    const Json whole = to_json(generate({}));
    EXPECT_EQ(tokens(whole), 28u);
    EXPECT_EQ(ending(whole), "context");
    EXPECT_EQ(whole.find("answers")->items()[0].find("finish_reason")->as_string(), "length");
    const Answer told = expect_success(generate({}));
    EXPECT_NE(told.err.find("stopped at the model's context of 32 tokens; --context-shift goes on"), told.err.npos)
        << told.err;
    EXPECT_EQ(ending(to_json(generate({}, "28"))), "length");
    EXPECT_EQ(tokens(to_json(generate({"-c", "20"}))), 16u);
    EXPECT_EQ(tokens(to_json(generate({"--ctx", "20", "--beams", "3"}))), 16u);
    EXPECT_EQ(ending(to_json(generate({"--ctx", "20", "--beams", "3"}))), "context");
    const Json beyond = to_json(generate({"--beyond-context"}));
    EXPECT_EQ(tokens(beyond), 100u);
    EXPECT_EQ(ending(beyond), "length");
    const Json shifted = to_json(generate({"--context-shift"}));
    EXPECT_EQ(tokens(shifted), 100u);
    EXPECT_EQ(number(shifted, "forgotten_tokens"), 75);  // of 32 tokens 31 may be forgotten, 15 at a time
    const Answer went_on = expect_success(generate({"--context-shift"}));
    EXPECT_NE(went_on.err.find("75 older tokens were forgotten"), went_on.err.npos) << went_on.err;
    // Rows of a batch end for themselves.
    const Json batch = to_json(generate({"--ids", "1,40,41,42,43,44,45,46,47,48"}));
    EXPECT_EQ(tokens(batch, 0), 28u);
    EXPECT_EQ(tokens(batch, 1), 23u);
    const Answer both = expect_success(generate({"--ids", "1,40"}, "30"));
    EXPECT_NE(both.err.find("1 of 2 texts stopped at"), both.err.npos) << both.err;
}

TEST_F(Context, APromptThatIsTooLongIsRefusedUnlessAskedFor) {
    const std::string path = at("model"), text(300, 'x');
    expect_refusal(1, {"generate", path, text},
                   {"the prompt has", "model's context of 32 tokens", "--context-shift", "--beyond-context"});
    expect_success({"generate", path, text, "--context-shift", "--max-new", "3"});
    expect_success({"generate", path, text, "--beyond-context", "--max-new", "3"});
    expect_refusal(1, {"generate", path, "hi there, all of you", "--ctx", "3"},
                   {"context of 3 tokens; --context-shift leaves out the older half of it; --ctx can be up to 32\n"});
    expect_refusal(1, {"generate", path, "hi there, all of you", "--ctx", "2"},
                   {"context of 2 tokens; --ctx can be up to 32\n"});
    expect_refusal(1, {"generate", path, text, "--beams", "2"}, {"context of 32 tokens; --beyond-context reads"});
    expect_refusal(1, {"generate", path, "hi", "--ctx", "33"}, {"--ctx", "33", "32", "--beyond-context"});
    expect_refusal(1, {"generate", path, "hi", "--ctx", "0"}, {"--ctx", "0"});
    expect_refusal(1, {"generate", path, "hi", "--ctx", "-5"}, {"--ctx", "-5"});
    expect_refusal(1, {"generate", path, "hi", "--context-shift", "--beyond-context"}, {"--context-shift"});
    expect_refusal(1, {"generate", path, "hi", "--context-shift", "--beams", "2"}, {"--context-shift", "--beams 1"});
    expect_refusal(1, {"generate", path, "hi", "--context-shift", "--ctx", "2"}, {"--context-shift", "2"});
    init("alibi", R"({"model_type": "falcon", "alibi": true, "vocab_size": 1100, "hidden_size": 32,
        "num_hidden_layers": 1, "num_attention_heads": 2, "bos_token_id": 1, "eos_token_id": 2})");
    expect_refusal(1, {"generate", at("alibi"), "hi", "--context-shift"}, {"--context-shift", "--ctx"});
    EXPECT_EQ(tokens(to_json({"generate", at("alibi"), "hi", "--context-shift", "--ctx", "16", "--ignore-stop",
                              "--max-new", "40", "--greedy"})),
              40u);
}

// Two long texts that differ behind the context have one vector, and whoever compares them has to know.
TEST_F(Context, EmbeddingsSayWhichTextsLostTheirEnds) {
    std::string start;
    for (int i = 0; i < 40; ++i) start += text_of("bird ", i, " ");
    const Words texts{"a bird", start + "sat on a wire", start + "flew away"};
    const auto words = [&](const Words& more) {
        Words all{"embed", at("model")};
        all.insert(all.end(), texts.begin(), texts.end());
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    const Answer told = expect_success(words({"--similarity"}));
    EXPECT_EQ(told.err, "tessera: 2 of 3 texts were cut to the 32 tokens that the model reads\n");
    const Answer lines = expect_success(words({"--json"}));
    EXPECT_EQ(lines.err, "");
    std::istringstream in(lines.out);
    for (const bool truncated : {false, true, true}) {
        std::string line;
        std::getline(in, line);
        const Json one = Json::parse(line, "line");
        EXPECT_EQ(one.find("truncated")->as_boolean(), truncated);
        EXPECT_EQ(number(one, "tokens") == 32, truncated);
    }
    EXPECT_EQ(number(to_json(words({"--similarity"})), "truncated"), 2);
    EXPECT_EQ(number(to_json(words({"-o", at("v.npy")})), "truncated"), 2);
    EXPECT_EQ(expect_success({"embed", at("model"), "a bird"}).err, "");
}

TEST_F(Context, GoesOnBeyondItOnlyWherePositionsDo) {
    init("learned", R"({"model_type": "gpt2", "vocab_size": 1100, "n_embd": 32, "n_layer": 1, "n_head": 2,
        "n_positions": 32, "bos_token_id": 1, "eos_token_id": 2})");
    const Answer answer = expect_success({"generate", at("learned"), "hi", "--beyond-context", "--max-new", "2"});
    EXPECT_NE(answer.err.find("--beyond-context has no effect"), answer.err.npos) << answer.err;
    const Answer rotated = expect_success({"generate", at("model"), "hi", "--beyond-context", "--max-new", "2"});
    EXPECT_EQ(rotated.err.find("no effect"), rotated.err.npos) << rotated.err;
    expect_refusal(1, {"generate", at("learned"), std::string(300, 'x')}, {"leaves out the older half of it\n"});
}

// Where counting would take long and much memory, it ends soon.
TEST_F(Context, ALongPromptIsNotPutIntoTokensToItsEnd) {
    std::string text;
    while (text.size() < (8 << 20)) text += "a small book of many words\n";
    expect_refusal(1, {"generate", at("model"), "-f", folder_.write("long.txt", text)},
                   {"the prompt has more than ", "context of 32 tokens"});
}

TEST_F(Context, TranslationsEndWithTheDecoders) {
    Json::parse(R"({"model_type": "bart", "vocab_size": 900, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1,
        "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
        "max_position_embeddings": 24, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2,
        "decoder_start_token_id": 1, "forced_eos_token_id": null})",
                "config")
        .write(folder_ / "config.json");
    expect_success({"init", folder_ / "config.json", at("bart")});
    fs::copy_file(fs::path(testing::golden_path("tokenizers")) / "unigram-t5/tokenizer.json",
                  at("bart") + "/tokenizer.json");
    for (const char* beams : {"1", "3"}) {
        const std::vector<std::string> words{"translate",     at("bart"), "Hello", "--max-new", "100",
                                             "--ignore-stop", "--beams",  beams,   "--json"};
        const Answer answer = expect_success(words);
        const Json line = Json::parse(answer.out, "standard output");
        EXPECT_EQ(line.find("tokens")->items().size(), 24u);
        EXPECT_EQ(line.find("ending")->as_string(), "context");
        EXPECT_NE(answer.err.find("1 of 1 text stopped at the model's context of 24 tokens"), answer.err.npos);
    }
    const Json fewer =
        Json::parse(expect_success({"translate", at("bart"), "Hello", "--ctx", "7", "--ignore-stop", "--json"}).out,
                    "standard output");
    EXPECT_EQ(fewer.find("tokens")->items().size(), 7u);
}

}  // namespace
}  // namespace tessera
