// Training through the program: killed at any moment and resumed, fine-tuned, evaluated and merged.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <sstream>

#include "cli/program.h"
#include "support/goldens.h"
#include "support/quantised_gguf.h"
#include "support/temporary_folder.h"
#include "tessera/formats/checkpoint.h"
#include "tessera/formats/config.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using formats::Json;
using testing::expect_refusal;
using testing::expect_success;

const char* const small_config =
    R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 1100, "hidden_size": 32,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64,
    "max_position_embeddings": 64, "attention_dropout": 0.1, "bos_token_id": 1, "eos_token_id": 2})";

class Train : public ::testing::Test {
   protected:
    Train() {
        Json::parse(small_config, "config").write(folder_ / "config.json");
        expect_success({"init", folder_ / "config.json", model()});
        fs::copy_file(fs::path(testing::golden_path("tokenizers")) / "byte-fallback-bpe-llama2/tokenizer.json",
                      model() + "/tokenizer.json");
        std::string text;
        for (int i = 0; i < 90; ++i)
            text += text_of("Line ", i, " of a small book says that ", i * i % 17, " birds sat on a wire.\n");
        folder_.write("book.txt", text);
    }

    std::string model() const { return folder_ / "model"; }
    std::string data() const { return folder_ / "book.txt"; }
    std::string at(const std::string& name) const { return folder_ / name; }

    std::vector<std::string> finetune(const std::string& out, std::vector<std::string> more = {}) const {
        std::vector<std::string> words{"finetune",
                                       model(),
                                       data(),
                                       "-o",
                                       at(out),
                                       "data.length=24",
                                       "batch=2",
                                       "optimizer.learning_rate=0.01",
                                       "data.separator=.\n"};
        for (const std::string& word : more) {  // in place of the same setting before it
            if (const std::size_t equals = word.find('='); equals != word.npos)
                std::erase_if(
                    words, [&](const std::string& earlier) { return earlier.starts_with(word.substr(0, equals + 1)); });
            words.push_back(word);
        }
        return words;
    }

    // The text of every step's losses, without what the clock says.
    std::map<std::int64_t, std::string> losses(const std::string& out) const {
        std::map<std::int64_t, std::string> lines;
        std::istringstream file(folder_.read(out + "/metrics.jsonl"));
        for (std::string line; std::getline(file, line);) {
            const Json entry = Json::parse(line, "metrics.jsonl");
            if (!entry.find("loss")) continue;
            EXPECT_TRUE(
                lines.emplace(entry.find("step")->as_integer(), line.substr(0, line.find(",\"units_per_second")))
                    .second)
                << line;
        }
        return lines;
    }

    std::map<std::int64_t, double> losses_alone(const std::string& out) const {
        std::map<std::int64_t, double> values;
        for (const auto& [step, line] : losses(out))
            values[step] = formats::Config(Json::parse(line + "}", "metrics.jsonl"), "metrics.jsonl").number("loss");
        return values;
    }

    // Runs once in one go, and once killed at random moments, and compares every loss.
    void expect_resumes(const std::vector<std::string>& settings, unsigned seed, int kills) const {
        std::vector<std::string> all{"steps=30", "save.every=1", "save.keep=1"};
        all.insert(all.end(), settings.begin(), settings.end());
        const auto start = std::chrono::steady_clock::now();
        expect_success(finetune("whole", all));
        const auto whole_run =
            std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
        std::mt19937 random(seed);
        all.push_back("--resume");
        int killed = 0;
        for (int i = 0; i < kills; ++i) {
            const auto after = std::chrono::milliseconds(
                static_cast<std::int64_t>(random() % static_cast<unsigned>(whole_run.count() / 2 + 1)));
            killed += testing::run_and_kill(finetune("killed", all), after);
        }
        expect_success(finetune("killed", all));
        EXPECT_GT(killed, 0);
        EXPECT_EQ(losses("killed"), losses("whole"));
        EXPECT_EQ(losses("killed").size(), 30u);
        for (const char* file : {"/model.safetensors", "/adapter_model.safetensors"})
            if (fs::exists(at("whole") + file)) {
                EXPECT_EQ(folder_.read(std::string("killed") + file), folder_.read(std::string("whole") + file));
            }
        for (const auto& entry : fs::recursive_directory_iterator(at("killed"))) {
            const std::string name = entry.path().filename();
            EXPECT_FALSE(name.starts_with("unfinished") || name.ends_with(".tmp")) << entry.path();
        }
    }

    static Json to_json(std::vector<std::string> arguments) {
        arguments.push_back("--json");
        return Json::parse(expect_success(arguments).out, "standard output");
    }

    testing::TemporaryFolder folder_;
};

class Threads {
   public:
    explicit Threads(const char* count) { setenv("OMP_NUM_THREADS", count, 1); }
    ~Threads() { unsetenv("OMP_NUM_THREADS"); }
};

TEST_F(Train, KilledAtAnyMomentTheLossesThatFollowAreTheSame) {
    const Threads threads("1");
    expect_resumes({}, 1, 5);
}

TEST_F(Train, KilledWithTwoThreadsInBfloat16WithAnAverage) {
    const Threads threads("2");
    expect_resumes({"precision=bf16", "ema=0.9", "accumulate=2"}, 2, 5);
}

TEST_F(Train, KilledWhileAdaptersLearn) { expect_resumes({"--lora", "r=4,alpha=8,dropout=0.2"}, 3, 4); }

TEST_F(Train, AdaptersDropOnlyWhileTheyLearn) {
    expect_success(finetune("plain", {"--lora", "r=4", "steps=4"}));
    expect_success(finetune("dropping", {"--lora", "r=4,dropout=0.5", "steps=4"}));
    const auto loss_at = [&](const char* out, std::int64_t step) {
        const std::string line = losses(out).at(step);
        return line.substr(0, line.find(",\"smoothed_loss"));
    };
    EXPECT_EQ(loss_at("plain", 1), loss_at("dropping", 1));  // B is 0 still
    EXPECT_NE(loss_at("plain", 4), loss_at("dropping", 4));
    const Json config = Json::read(fs::path(at("dropping")) / "adapter_config.json");
    EXPECT_EQ(config.find("lora_dropout")->as_number(), 0.5);
    const auto loss = [&] { return to_json({"eval", at("dropping"), data(), "data.length=24"}).dump(0); };
    EXPECT_EQ(loss(), loss());
    expect_refusal(1, finetune("out", {"--lora", "r=4,dropout=1"}), {"lora", "dropout"});
}

TEST_F(Train, TheNumberOfThreadsChangesNothing) {
    {
        const Threads threads("1");
        expect_success(finetune("one", {"steps=6"}));
    }
    const Threads threads("2");
    expect_success(finetune("two", {"steps=6"}));
    EXPECT_EQ(losses("one"), losses("two"));
}

TEST_F(Train, AdaptersStandBesideAQuantisedFile) {
    testing::write_quantised_gguf(model(), folder_ / "base.gguf");
    const std::string base = at("base.gguf");
    const Json before = to_json({"eval", base, data(), "data.length=24", "tokenizer=" + model()});
    expect_success({"finetune", base, data(), "-o", at("adapter"), "--lora", "r=4", "steps=10", "data.length=24",
                    "optimizer.learning_rate=0.01", "tokenizer=" + model()});
    EXPECT_LT(fs::file_size(at("adapter") + "/adapter_model.safetensors"), fs::file_size(base));
    const Json after = to_json({"eval", at("adapter"), data(), "data.length=24"});
    EXPECT_LT(after.find("loss")->as_number(), before.find("loss")->as_number() - 0.01);
    expect_success({"generate", at("adapter"), "Line 3 of", "--max-new", "4"});
    expect_success({"merge", at("adapter"), "-o", at("merged")});
    const Json merged = to_json({"eval", at("merged"), data(), "data.length=24"});
    EXPECT_NEAR(merged.find("loss")->as_number(), after.find("loss")->as_number(), 2e-3);
    expect_refusal(1,
                   {"finetune", base, data(), "-o", at("x"), "--lora", "r=4", "precision=bf16", "tokenizer=" + model()},
                   {"precision", "quantised"});
}

TEST_F(Train, AnEarlierRunIsNotMixedWithANewOne) {
    expect_success(finetune("out", {"steps=2", "save.every=1"}));
    expect_refusal(1, finetune("out", {"steps=2"}), {"out", "--resume", "--overwrite"});
    expect_success(finetune("out", {"steps=1", "--overwrite"}));
    EXPECT_EQ(losses("out").size(), 1u);
    expect_refusal(1, finetune("out", {"steps=3", "--resume"}), {"out", "nothing to go on from"});
}

TEST_F(Train, MoreStepsMayBeAskedForLater) {
    expect_success(finetune("out", {"steps=2", "save.every=5", "schedule.name=constant"}));
    expect_success(finetune("out", {"steps=4", "save.every=5", "schedule.name=constant", "--resume"}));
    expect_success(finetune("whole", {"steps=4", "schedule.name=constant"}));
    EXPECT_EQ(losses("out"), losses("whole"));
}

// What was trained is what recipe.json says.
TEST_F(Train, OtherSettingsAreRecordedOrRefused) {
    expect_success(finetune("out", {"steps=2", "save.every=1", "schedule.name=constant"}));
    const std::string before = folder_.read("out/recipe.json");
    const auto resume = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"save.every=1", "schedule.name=constant", "--resume"});
        return finetune("out", more);
    };
    Json::parse(small_config, "config").write(folder_ / "other.json");
    expect_refusal(1, resume({"steps=2", "batch=3", "seed=4"}), {"batch: 2 → 3", "seed: 0 → 4", "out/recipe.json"});
    expect_refusal(1, resume({"steps=2", "model=" + at("other.json")}), {"model", "other.json"});
    expect_refusal(1, resume({"steps=1"}), {"steps", "stands at 2"});
    EXPECT_EQ(folder_.read("out/recipe.json"), before);
    const std::string out = expect_success(resume({"steps=3", "optimizer.learning_rate=0.005"})).out;
    EXPECT_TRUE(out.starts_with(at("out") + ": going on after step 2 with steps: 2 → 3, optimizer.learning_rate: "))
        << out;
    const Json recipe = Json::read(folder_ / "out/recipe.json");
    EXPECT_EQ(recipe.find("steps")->as_integer(), 3);
    EXPECT_EQ(recipe.find("resumed")->items()[1].dump(0),
              R"({"step":2,"key":"optimizer.learning_rate","old":0.01,"new":0.005})");
    EXPECT_NE(folder_.read("out/metrics.jsonl").find(R"({"step":2,"resumed":{"steps":{"old":2,"new":3},)"),
              std::string::npos);
    expect_success({"train", at("out"), "--resume"});  // as it says itself
    expect_refusal(1, {"train", at("out")}, {"out", "--resume", "-o"});
    fs::remove(folder_ / "out/recipe.json");
    expect_refusal(1, resume({"steps=4"}), {"out/recipe.json", "is missing"});
    EXPECT_TRUE(
        expect_success(finetune("new", {"steps=1", "--resume"})).out.starts_with(at("new") + ": no checkpoint"));
}

// A configuration that is edited after the run began would say what its weights are not.
TEST_F(Train, AConfigurationThatChangedIsRefused) {
    folder_.write("recipe.json", R"({"model": "config.json", "tokenizer": "characters", "data": {"train": "book.txt",
        "length": 16}, "batch": 1, "steps": 2, "save": {"every": 1}})");
    const std::vector<std::string> train{"train", at("recipe.json"), "-o", at("out"), "--resume", "steps=3"};
    expect_success({"train", at("recipe.json"), "-o", at("out")});
    expect_success(train);
    Json config = Json::read(folder_ / "config.json");
    config.set("num_hidden_layers", 3).write(folder_ / "config.json");
    expect_refusal(1, train, {"config.json", "num_hidden_layers: 2 → 3"});
}

// The mean of the last fifty steps, whether the run was interrupted or not.
TEST_F(Train, TheLossesReportedAreThoseOfTheEnd) {
    const std::vector<std::string> settings{"steps=60", "save.every=30", "schedule.name=constant",
                                            "data.validation=" + data()};
    const auto result = [&](const std::string& out, std::vector<std::string> more) {
        std::vector<std::string> all = settings;
        all.insert(all.end(), more.begin(), more.end());
        return to_json(finetune(out, all));
    };
    const Json whole = result("whole", {});
    double sum = 0;
    for (const auto& [step, line] : losses_alone("whole"))
        if (step > 10) sum += line;
    EXPECT_EQ(whole.find("training_loss")->as_number(), sum / 50);
    EXPECT_EQ(whole.find("training_loss_steps")->as_integer(), 50);
    const Json evaluated = to_json({"eval", at("whole"), data(), "--batches", "16"});
    EXPECT_EQ(evaluated.find("loss")->as_number(), whole.find("validation_loss")->as_number());
    result("parts", {"steps=30"});
    const Json parts = result("parts", {"--resume"});
    for (const char* key : {"training_loss", "training_loss_steps", "validation_loss"})
        EXPECT_EQ(parts.find(key)->as_number(), whole.find(key)->as_number()) << key;
    EXPECT_EQ(result("parts", {"--resume"}).dump(), parts.dump());  // nothing is left to do
    const Json average = result("average", {"ema=0.9", "steps=8"});
    const Json of_average = to_json({"eval", at("average"), data(), "--batches", "16"});
    EXPECT_EQ(of_average.find("loss")->as_number(), average.find("validation_loss")->as_number());
    const std::string said = expect_success(finetune("short", {"steps=3"})).out;
    EXPECT_NE(said.find(": 3 steps, training loss "), said.npos) << said;
    EXPECT_NE(said.find(" (mean of the last 3); try: "), said.npos) << said;
}

TEST_F(Train, EpochsAndTheUsualShortOptions) {
    const std::vector<std::string> start{"finetune", model(), data(), "data.length=24", "data.separator=.\n", "-o"};
    const auto with = [&](const std::string& out, std::vector<std::string> more) {
        std::vector<std::string> all = start;
        all.push_back(at(out));
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    const std::string out = expect_success(with("out", {"--epochs", "0.5", "--batch", "4", "--lr", "1e-3"})).out;
    const Json recipe = Json::read(folder_ / "out/recipe.json");
    EXPECT_EQ(recipe.find("epochs")->as_number(), 0.5);
    EXPECT_TRUE(recipe.find("steps")->is_null());
    EXPECT_EQ(recipe.find("batch")->as_integer(), 4);
    EXPECT_EQ(recipe.find("optimizer")->find("learning_rate")->as_number(), 1e-3);
    EXPECT_NE(out.find("(0.5"), out.npos) << out;
    EXPECT_NE(out.find("epoch 0.5/0.5"), out.npos) << out;
    const Json again = to_json({"train", at("out/recipe.json"), "-o", at("again")});
    EXPECT_EQ(again.find("steps")->as_integer(), static_cast<std::int64_t>(losses("out").size()));
    expect_refusal(1, with("x", {"--epochs", "1", "--steps", "3"}), {"steps: 3 and epochs: 1"});
    expect_refusal(1, with("x", {"--lr", "-1"}), {"learning_rate", "-1"});
    expect_refusal(2, with("x", {"--lr", "fast"}), {"--lr", "fast"});
}

// Whoever trains it, from wherever: paths of the recipe are beside it.
TEST_F(Train, ARecipeFindsItsDataBesideIt) {
    folder_.write("project/recipe.json", R"({"model": "config.json", "tokenizer": "characters", "batch": 1, "steps": 1,
        "data": {"train": "texts/book.txt", "validation": "texts/book.txt", "length": 16}})");
    folder_.write("project/config.json", small_config);
    folder_.write("project/texts/book.txt", folder_.read("book.txt"));
    expect_success({"train", at("project/recipe.json"), "-o", at("out")});
    const Json recipe = Json::read(folder_ / "out/recipe.json");
    EXPECT_EQ(recipe.find("data")->find("train")->items()[0].as_string(), at("project/texts/book.txt"));
    expect_success({"train", at("out/recipe.json"), "-o", at("again")});
    expect_success({"compare", at("out"), at("again"), "-o", at("both")});
    expect_refusal(1, {"train", at("project/recipe.json"), "data.train=texts/book.txt", "-o", at("x")},
                   {"data.train", "texts/book.txt", "no such file"});
}

TEST_F(Train, SamplesKeepTheirLines) {
    const std::string out =
        expect_success(finetune("out", {"steps=1", "sample.every=1", "sample.tokens=1", "sample.prompt=one\ntwo"})).out;
    EXPECT_NE(out.find("step 1:\n    one\n    two"), out.npos) << out;
}

TEST_F(Train, SamplesEndAtTheIdsOfTheModelsFiles) {
    const auto sample = [&](const std::string& to) {
        const std::string out =
            expect_success(finetune(to, {"steps=1", "sample.every=1", "sample.tokens=8", "sample.prompt=one two"})).out;
        const std::size_t begin = out.find("step 1:\n");
        EXPECT_NE(begin, out.npos) << out;
        return out.substr(begin + 8, out.find('\n', begin + 8) - begin - 8);
    };
    EXPECT_NE(sample("free"), "    one two");
    Json every_id = Json::array();
    for (std::int64_t id = 0; id < 1100; ++id) every_id.push_back(id);
    Json::object().set("eos_token_id", std::move(every_id)).write(model() + "/generation_config.json");
    EXPECT_EQ(sample("ended"), "    one two");
    // What the result would be given is wrong: it is told before anything is learned.
    Json::object().set("repetition_penalty", -1).write(model() + "/generation_config.json");
    expect_refusal(1, finetune("refused", {"steps=1"}), {"generation_config.json: repetition_penalty", "-1"});
    EXPECT_FALSE(std::filesystem::exists(at("refused")));
}

TEST_F(Train, SamplesEndWherePositionsDo) {
    folder_.write("recipe.json", R"({"model": {"model_type": "gpt2", "n_embd": 16, "n_layer": 1, "n_head": 2,
        "n_positions": 8}, "tokenizer": "characters", "data": {"train": "book.txt", "length": 8}, "batch": 1, "steps": 1,
        "sample": {"every": 1}})");
    expect_success({"train", at("recipe.json"), "sample.tokens=50", "-o", at("out")});
    expect_success({"train", at("recipe.json"), "sample.prompt=Line after line after line", "-o", at("long")});
    expect_refusal(1,
                   {"train", at("recipe.json"), R"(model={"model_type": "bert", "hidden_size": 16,
        "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 12})",
                    "objective=masked", "-o", at("x")},
                   {"sample.every", "bert", "continues no texts"});
}

TEST_F(Train, AWindowOfOneTokenIsRefusedBeforeTraining) {
    expect_refusal(1, finetune("out", {"data.length=1"}), {"data.length", "at least 2", "found 1"});
}

TEST_F(Train, TheKeysThatMayChangeAreMarked) {
    const std::string keys = expect_success({"train", "--keys"}).out;
    EXPECT_NE(keys.find("\n* steps "), keys.npos);
    EXPECT_NE(keys.find("\n  batch "), keys.npos);
}

TEST_F(Train, AFolderThatCannotBeWrittenIsReportedAtTheStart) {
    folder_.write("file", "");
    expect_refusal(1, finetune("file/out", {"steps=1"}), {"file/out"});
}

TEST_F(Train, ATokenizerWithMoreTokensThanTheModelIsRefused) {
    Json::parse(small_config, "config").set("vocab_size", 97).write(folder_ / "config.json");
    expect_success({"init", folder_ / "config.json", at("small")});
    expect_refusal(1, {"finetune", at("small"), data(), "tokenizer=bytes", "-o", at("out")},
                   {"small/config.json", "vocab_size", "261", "97"});
}

TEST_F(Train, AdaptersRunAloneAndMergedAlike) {
    expect_success(finetune("adapter", {"--lora", "r=4,alpha=8,targets=q_proj+v_proj", "steps=8"}));
    EXPECT_FALSE(fs::exists(at("adapter") + "/model.safetensors"));
    expect_success({"merge", at("adapter"), "-o", at("merged")});
    const auto tokens = [](std::vector<std::string> arguments) {
        arguments.insert(arguments.end(), {"Line 3 of", "--max-new", "12"});
        const Json result = to_json(arguments);
        return result.find("tokens")->dump(0);
    };
    const std::string alone = tokens({"generate", at("adapter")});
    EXPECT_EQ(alone, tokens({"generate", model(), "--adapter", at("adapter")}));
    EXPECT_EQ(alone, tokens({"generate", at("merged")}));
    EXPECT_NE(alone, tokens({"generate", model()}));
    // Ids in, ids out, whatever tokenizer lies there.
    for (const std::string& folder : {at("adapter"), at("merged")})
        EXPECT_EQ(expect_success({"generate", folder, "--ids", "5,6", "--max-new", "3"})
                      .out.find_first_not_of("0123456789,\n"),
                  std::string::npos);
    const auto loss = [&](const std::string& path) {
        const Json result = to_json({"eval", path, data(), "data.length=24", "data.separator=.\n"});
        return result.find("loss")->as_number();
    };
    EXPECT_NEAR(loss(at("adapter")), loss(at("merged")), 1e-5);
    EXPECT_LT(loss(at("adapter")), loss(model()) - 0.01);
}

TEST_F(Train, WhatCannotBeAdaptedIsRefused) {
    expect_refusal(1, finetune("out", {"--lora", "r=0"}), {"--lora", "r=0", "at least 1"});
    expect_refusal(1, finetune("out", {"--lora", "r=4,targets=c_attn"}), {"c_attn", "q_proj", "all-linear"});
    expect_refusal(1, finetune("out", {"--lora", "rnk=4"}), {"--lora", "rnk=4"});
    expect_refusal(1, finetune("out", {"--lora", "r=-4"}), {"lora.rank"});
    expect_refusal(1, {"merge", model(), "-o", at("x")}, {"adapter_config.json"});
    expect_refusal(1, {"generate", model(), "a", "--adapter", model()}, {"adapter_config.json"});
    expect_refusal(2, {"finetune", model(), data()}, {"-o"});
    expect_success(finetune("adapter", {"--lora", "r=4", "steps=1"}));
    fs::remove_all(model());
    expect_refusal(1, {"generate", at("adapter"), "a"}, {"base_model_name_or_path", "--adapter"});
}

TEST_F(Train, EvaluationIsTheScoreOfTheText) {
    const Json result = to_json({"eval", model(), data(), "data.length=24"});
    EXPECT_NEAR(result.find("loss")->as_number(), std::log(1100), 0.2);  // random weights know nothing
    EXPECT_NEAR(result.find("perplexity")->as_number(), std::exp(result.find("loss")->as_number()), 1e-6);
    EXPECT_GT(result.find("bits_per_byte")->as_number(), 1);
    expect_refusal(1, {"eval", model(), at("nowhere.txt")}, {"nowhere.txt"});
    expect_refusal(1, {"eval", model(), data(), "dta.length=3"}, {"data.length"});
}

}  // namespace
}  // namespace tessera
