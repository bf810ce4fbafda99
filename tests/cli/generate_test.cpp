// Text through the program: generate and translate on tiny models of random weights with real tokenizers.
#include <gtest/gtest.h>

#include "cli/program.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/formats/checkpoint.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using formats::Json;
using testing::Answer;
using testing::expect_refusal;
using testing::expect_success;

const char* const decoder_config =
    R"({"model_type": "llama", "vocab_size": 1100, "hidden_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64, "max_position_embeddings": 64,
    "bos_token_id": 1, "eos_token_id": 2})";
const char* const translator_config =
    R"({"model_type": "t5", "vocab_size": 900, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4,
    "decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1, "num_beams": 3, "max_length": 9,
    "task_specific_params": {"to_german": {"prefix": "say: "}}})";

class Generate : public ::testing::Test {
   protected:
    std::string model(const char* config, const char* tokenizer) {
        formats::Json::parse(config, "config").write(folder_ / "config.json");
        const std::string path = folder_ / "model";
        expect_success({"init", folder_ / "config.json", path});
        fs::copy_file(fs::path(testing::golden_path("tokenizers")) / tokenizer / "tokenizer.json",
                      path + "/tokenizer.json");
        return path;
    }
    std::string decoder() { return model(decoder_config, "byte-fallback-bpe-llama2"); }
    std::string translator() { return model(translator_config, "unigram-t5"); }

    static Json to_json(std::vector<std::string> arguments) {
        arguments.push_back("--json");
        const Answer run = expect_success(arguments);
        EXPECT_EQ(run.err, "");
        return Json::parse(run.out, "standard output");
    }
    static std::string text_of(const Json& result, std::size_t row = 0) {
        return result.find("answers")->items()[row].find("text")->as_string();
    }

    testing::TemporaryFolder folder_;
};

TEST_F(Generate, StreamsTheTextThatJsonGives) {
    const std::string path = decoder();
    const Answer streamed = expect_success({"generate", path, "Hello big world", "--max-new", "12"});
    const Json result = to_json({"generate", path, "Hello big world", "--max-new", "12"});
    EXPECT_EQ(streamed.out, text_of(result) + "\n");
    for (const char* part : {"prompt", "tokens/s", "first token"})
        EXPECT_NE(streamed.err.find(part), std::string::npos);
    EXPECT_EQ(result.find("tokens")->items()[0].items().size(), 12u);
    const Json ids = to_json({"tokenize", path, "Hello big world"});
    std::string list;
    for (const Json& id : ids.find("ids_with_special")->items()) list += (list.empty() ? "" : ",") + id.dump(0);
    const Json from_ids = to_json({"generate", path, "--ids", list, "--max-new", "12"});
    EXPECT_EQ(*from_ids.find("tokens"), *result.find("tokens"));
    const Json empty = to_json({"generate", path, "", "--max-new", "2"});
    EXPECT_EQ(empty.find("prompt_tokens")->as_integer(), 1);
}

TEST_F(Generate, EchoesThePromptWhetherSampledOrSearchedFor) {
    const std::string path = decoder();
    for (const char* beams : {"1", "2"}) {
        const std::vector<std::string> words{"generate", path, "Hello big world", "--max-new", "6", "--beams", beams};
        std::vector<std::string> echoed = words;
        echoed.push_back("--echo");
        EXPECT_EQ(expect_success(echoed).out, "Hello big world" + expect_success(words).out);
        EXPECT_EQ(expect_success(words).out, text_of(to_json(words)) + "\n");
    }
}

TEST_F(Generate, StopsWhereTheTokenizerDoesIfTheFilesDoNotSay) {
    const std::string path = decoder();
    const Json whole = to_json({"generate", path, "Hello", "--max-new", "8", "--ignore-stop"});
    const std::int64_t second = whole.find("tokens")->items()[0].items()[1].as_integer();
    Json config = Json::read(path + "/config.json");
    config.set("eos_token_id", Json());
    config.write(path + "/config.json");
    fs::remove(path + "/generation_config.json");
    const Json tokenizer = Json::read(path + "/tokenizer.json");
    std::string text;
    for (const auto& [token, id] : tokenizer.find("model")->find("vocab")->members())
        if (id.as_integer() == second) text = token;
    Json::object().set("eos_token", text).write(path + "/tokenizer_config.json");
    const Json stopped = to_json({"generate", path, "Hello", "--max-new", "8"});
    EXPECT_LE(stopped.find("tokens")->items()[0].items().size(), 2u);
    EXPECT_EQ(stopped.find("answers")->items()[0].find("ending")->as_string(), "stop");
    const Json ignored = to_json({"generate", path, "Hello", "--max-new", "8", "--ignore-stop"});
    EXPECT_EQ(*ignored.find("tokens"), *whole.find("tokens"));
}

TEST_F(Generate, PromptsOfABatchGetWhatTheyGetAlone) {
    const std::string path = decoder();
    const Json both = to_json({"generate", path, "Hello", "A much longer prompt than that", "--max-new", "8"});
    EXPECT_EQ(text_of(both, 0), text_of(to_json({"generate", path, "Hello", "--max-new", "8"})));
    EXPECT_EQ(text_of(both, 1),
              text_of(to_json({"generate", path, "A much longer prompt than that", "--max-new", "8"})));
}

TEST_F(Generate, TakesAPromptAsItIs) {
    const std::string path = decoder();
    for (const std::string prompt : {"[a, b]", "[INST] hi [/INST]", "  two  ", "a,b", "{x}", "\"q\"", "\n", "größe"}) {
        const Json ids = to_json({"tokenize", path, prompt});
        const Json result = to_json({"generate", path, prompt, "--max-new", "1"});
        EXPECT_EQ(result.find("prompt_tokens")->as_integer(),
                  static_cast<std::int64_t>(ids.find("ids_with_special")->items().size()))
            << prompt;
    }
}

TEST_F(Generate, ASeedGivesTheSameText) {
    const std::string path = decoder();
    const auto with = [&](std::vector<std::string> more) {
        std::vector<std::string> arguments{"generate", path, "Hello", "--max-new", "16"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return text_of(to_json(arguments));
    };
    EXPECT_EQ(with({"--temperature", "1.5", "--seed", "7"}), with({"--temperature", "1.5", "--seed", "7"}));
    EXPECT_NE(with({"--temperature", "1.5", "--seed", "7"}), with({"--temperature", "1.5", "--seed", "8"}));
    EXPECT_EQ(with({"--temperature", "0"}), with({}));
    EXPECT_EQ(with({"--top-k", "1", "--seed", "9"}), with({"--greedy"}));
    EXPECT_EQ(with({"--top-p", "0.000001", "--seed", "9"}), with({"--greedy"}));
    Json::object().set("do_sample", true).set("temperature", 2).write(path + "/generation_config.json");
    EXPECT_NE(with({"--seed", "1"}), with({"--seed", "2"}));
    EXPECT_EQ(with({"--greedy"}), with({"--greedy"}));
}

TEST_F(Generate, StopsBeforeATextAndAtAnId) {
    const std::string path = decoder();
    const Json whole = to_json({"generate", path, "Hello", "--max-new", "12"});
    const std::string text = text_of(whole), stop = text.substr(text.size() / 2, 3);
    const Json stopped = to_json({"generate", path, "Hello", "--max-new", "12", "--stop", stop});
    EXPECT_EQ(text_of(stopped), text.substr(0, text.find(stop)));
    EXPECT_EQ(stopped.find("answers")->items()[0].find("finish_reason")->as_string(), "stop");
    const std::string id = whole.find("tokens")->items()[0].items()[3].dump(0);
    const Json at_id = to_json({"generate", path, "Hello", "--stop-id", id});
    EXPECT_LE(at_id.find("tokens")->items()[0].items().size(), 4u);
}

TEST_F(Generate, BiasAndPenaltiesChangeWhatIsChosen) {
    const std::string path = decoder();
    const Json biased =
        to_json({"generate", path, "Hello", "--max-new", "3", "--logit-bias", "700=100", "--logprobs", "2"});
    for (const Json& id : biased.find("tokens")->items()[0].items()) EXPECT_EQ(id.as_integer(), 700);
    const Json& first = biased.find("answers")->items()[0].find("logprobs")->items()[0];
    EXPECT_LT(first.find("logprob")->as_number(), -1);  // the model's own opinion
    EXPECT_EQ(first.find("top")->items().size(), 2u);
    const Json varied =
        to_json({"generate", path, "Hello", "--max-new", "3", "--logit-bias", "700=100", "--frequency-penalty", "200"});
    EXPECT_NE(varied.find("tokens")->items()[0].items()[1].as_integer(), 700);
}

TEST_F(Generate, AnEncoderDecoderSearchesWithTheBeamsOfItsFiles) {
    const std::string path = translator();
    const Json result = to_json({"generate", path, "A small house"});
    EXPECT_NE(result.find("answers")->items()[0].find("score"), nullptr);
    EXPECT_LE(result.find("tokens")->items()[0].items().size(), 8u);  // max_length 9, the start counted
    const Answer translated = expect_success({"translate", path, "A small house", "Is it?"});
    EXPECT_EQ(translated.out.substr(0, translated.out.find('\n')), text_of(result));
    EXPECT_EQ(std::count(translated.out.begin(), translated.out.end(), '\n'), 2);
    EXPECT_EQ(expect_success({"translate", path, "A small house", "--task", "to_german"}).out,
              expect_success({"translate", path, "A small house", "--prefix", "say: "}).out);
    expect_refusal(1, {"translate", path, "x", "--task", "to_french"}, {"--task", "to_french", "to_german"});
}

TEST_F(Generate, RefusesWhatCannotBe) {
    const std::string path = decoder();
    const auto refuse = [&](std::vector<std::string> more, const std::vector<std::string>& parts, int status = 1) {
        std::vector<std::string> arguments{"generate", path};
        arguments.insert(arguments.end(), more.begin(), more.end());
        expect_refusal(status, arguments, parts);
    };
    refuse({"x", "--temperature", "-1"}, {"--temperature", "-1"});
    refuse({"x", "--temperature", "hot"}, {"--temperature", "hot"}, 2);
    refuse({"x", "--top-p", "0"}, {"--top-p"});
    refuse({"x", "--top-k", "-3"}, {"--top-k", "-3"});
    refuse({"x", "--stop", ""}, {"--stop"});
    refuse({"x", "--stop-id", "1100"}, {"--stop-id", "1100"});
    refuse({"x", "--stop-id", "x"}, {"--stop-id", "'x'"});
    refuse({"x", "--logit-bias", "7"}, {"--logit-bias", "'7'"});
    refuse({"x", "--logit-bias", "7=a"}, {"--logit-bias", "'7=a'"});
    refuse({"x", "--logit-bias", "5000=1"}, {"--logit-bias", "5000"});
    refuse({"x", "--beams", "0"}, {"--beams"});
    refuse({"x", "--beams", "2", "--temperature", "1"}, {"--beams"});
    refuse({"x", "--greedy", "--top-p", "0.5"}, {"--greedy"});
    refuse({"x", "--logprobs", "-1"}, {"--logprobs"});
    refuse({"x", "--ids", "1"}, {"--ids"}, 2);
    refuse({"x", "--seed", "-4"}, {"--seed"});
    refuse({"x", "--repetition-penalty", "0"}, {"--repetition-penalty"});
    expect_refusal(1, {"translate", path, "x"}, {"does not read one text and write another"});
    refuse({"--ids", "1,99999"}, {"--ids", "99999", "1100"});
    refuse({"caf\xe9"}, {"prompt 1", "0xe9", "place 4"});
    expect_refusal(1, {"generate", testing::golden_path("vit"), "x"}, {"a vit", "does not generate text"});
    fs::remove(path + "/tokenizer.json");
    refuse({"x"}, {"tokenizer"});
    expect_success({"generate", path, "--ids", "1", "--max-new", "2"});
    Json::object().set("top_p", 3).write(path + "/generation_config.json");
    refuse({"--ids", "1"}, {"generation_config.json", "top_p"});
}

}  // namespace
}  // namespace tessera
