// The program from outside: what each command prints, and a checkpoint's way through all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "cli/program.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/formats/checkpoint.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using formats::Json;
using testing::Answer;
using testing::expect_success;
using testing::TemporaryFolder;

const std::string tiny = R"({"model_type": "llama", "vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64, "max_position_embeddings": 64})";

Json to_json(const std::vector<std::string>& arguments) {
    const Answer run = expect_success(arguments);
    EXPECT_EQ(run.err, "");
    return Json::parse(run.out, "standard output");
}

// As the program lists them.
std::vector<std::string> listed_commands(const std::string& page) {
    std::vector<std::string> commands;
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
        std::string program, command;
        std::istringstream words(line);
        words >> program >> command;
        if (line.starts_with("  tessera ") && command != "help" && command != "--version") commands.push_back(command);
    }
    return commands;
}

TEST(Program, GreetsAndListsItsCommands) {
    const std::vector<std::string> all = listed_commands(expect_success({}).out);
    EXPECT_GT(all.size(), 15U);
    for (const char* command : {"generate", "classify", "parity", "inspect", "init", "convert", "ops"})
        EXPECT_EQ(std::count(all.begin(), all.end(), command), 1) << command;
    for (const char* argument : {"--help", "-h", "help"})
        EXPECT_EQ(listed_commands(expect_success({argument}).out), all) << argument;
    EXPECT_TRUE(expect_success({"--version"}).out.starts_with("tessera "));
}

TEST(Program, EveryCommandExplainsItselfWithAnExample) {
    for (const std::string& command : listed_commands(expect_success({}).out)) {
        const Answer run = expect_success({command, "--help"});
        EXPECT_EQ(run.err, "") << command;
        EXPECT_EQ(expect_success({"help", command}).out, run.out);
        EXPECT_NE(run.out.find("Usage: tessera " + command), run.out.npos) << run.out;
        const std::size_t example = run.out.find("Example:");
        ASSERT_NE(example, run.out.npos) << run.out;
        EXPECT_NE(run.out.find("tessera " + command, example), run.out.npos) << run.out;
        testing::expect_refusal(2, {command, "--no-such-option"},
                                {"--no-such-option", "tessera " + command + " --help"});
    }
}

TEST(Program, HelpNamesTheOptionsOfCommands) {
    const std::pair<std::string, std::vector<std::string>> commands[] = {
        {"generate",
         {"DIR",
          "PROMPT",
          "--ids",
          "--max-new",
          "--ignore-stop",
          "--temperature",
          "--top-k",
          "--top-p",
          "--min-p",
          "--typical",
          "--repetition-penalty",
          "--presence-penalty",
          "--frequency-penalty",
          "--seed",
          "--stop",
          "--stop-id",
          "--logprobs",
          "--beams",
          "--logit-bias",
          "--greedy",
          "--tokenizer",
          "--device",
          "--json"}},
        {"chat", {"DIR", "--system", "--max-new", "--temperature", "--seed", "--stop", "--device"}},
        {"finetune", {"DIR", "DATA", "--lora", "--steps", "--output", "--resume", "--overwrite", "--json"}},
        {"eval", {"DIR", "DATA", "--batches", "--device", "--json"}},
        {"merge", {"ADAPTER", "--base", "--output", "--dtype", "--json"}},
        {"translate", {"DIR", "TEXT", "--beams", "--prefix", "--task", "--device", "--json"}},
        {"parity", {"DIR", "--device", "--all", "--json"}},
        {"inspect", {"MODEL", "--list", "--json"}},
        {"classify", {"DIR", "--image", "--labels", "--template", "--top", "--device", "--json"}},
        {"init", {"CONFIG", "OUT", "--seed", "--dtype", "--max-shard"}},
        {"convert", {"DIR", "OUT", "--dtype", "--max-shard"}},
        {"tokenize", {"DIR", "TEXT", "--jsonl", "--json"}},
        {"ops", {"--json"}}};
    for (const auto& [command, words] : commands) {
        const std::string page = expect_success({command, "--help"}).out;
        for (const std::string& word : words) EXPECT_NE(page.find(word), page.npos) << command << ": " << word;
    }
}

TEST(Program, OpsAndPresetsAreJson) {
    const Json ops = to_json({"ops", "--json"});
    EXPECT_TRUE(ops.find("gemm")->find("cpu")->as_boolean());
    const Json presets = to_json({"inspect", "--list", "--json"});
    EXPECT_GT(presets.items().size(), 20U);
    EXPECT_GT(presets.items()[0].find("parameters")->as_integer(), 1'000'000);
}

TEST(Program, ACheckpointGoesThroughAllCommands) {
    const TemporaryFolder folder;
    const std::string config = folder.write("tiny.json", tiny), first = folder / "first";
    expect_success({"init", config, first, "--seed", "3"});
    folder.write("first/tokenizer.json", "{}");
    const Json facts = to_json({"inspect", first, "--json"});
    EXPECT_EQ(facts.find("parameters")->as_integer(), 24800);
    EXPECT_NE(expect_success({"inspect", first}).out.find("24,800"), std::string::npos);

    const std::vector<std::string> ask{"--ids", "1,2,3", "--ids", "96", "--max-new", "4", "--ignore-stop", "--json"};
    const auto tokens = [&](const std::string& model) {
        std::vector<std::string> arguments{"generate", model};
        arguments.insert(arguments.end(), ask.begin(), ask.end());
        const Json generated = to_json(arguments);
        return *generated.find("tokens");
    };
    const Json expected = tokens(first);
    ASSERT_EQ(expected.items().size(), 2U);
    EXPECT_EQ(expected.items()[0].items().size(), 4U);

    const std::pair<std::string, DType> dtypes[] = {{"bf16", DType::BF16}, {"f16", DType::F16}, {"f32", DType::F32}};
    for (const auto& [name, dtype] : dtypes) {
        const std::string out = folder / name;
        expect_success({"convert", first, out, "--dtype", name, "--max-shard", "20KB"});
        const formats::Checkpoint converted = formats::open_checkpoint(out);
        EXPECT_TRUE(fs::exists(fs::path(out) / "model.safetensors.index.json"));
        EXPECT_TRUE(fs::exists(fs::path(out) / "tokenizer.json"));
        for (const auto& [tensor, value] : converted.tensors) EXPECT_EQ(value.dtype(), dtype) << tensor;
        EXPECT_EQ(tokens(out).items().size(), 2U);
    }
    EXPECT_EQ(tokens(folder / "f32"), expected);
}

TEST(Program, GenerateStreamsOnePromptAndListsSeveral) {
    const TemporaryFolder folder;
    const std::string model = folder / "model";
    expect_success({"init", folder.write("tiny.json", tiny), model});
    const Answer one = expect_success({"generate", model, "--ids", "5", "--max-new", "3", "--ignore-stop"});
    EXPECT_EQ(std::count(one.out.begin(), one.out.end(), ','), 2) << one.out;
    const Answer two = expect_success({"generate", model, "--ids", "5", "--ids", "5,6", "--max-new", "3"});
    EXPECT_EQ(std::count(two.out.begin(), two.out.end(), '\n'), 2) << two.out;
}

TEST(Program, ParityHoldsForWhatConvertWrote) {
    const TemporaryFolder folder;
    const std::string golden = testing::golden_path("llama"), out = folder / "llama";
    expect_success({"convert", golden, out, "--max-shard", "100KB"});
    fs::copy_file(fs::path(golden) / "expected.safetensors", fs::path(out) / "expected.safetensors");
    const Json results = to_json({"parity", out, "--json"});
    ASSERT_EQ(results.items().size(), 1U);
    EXPECT_TRUE(results.items()[0].find("pass")->as_boolean());
    EXPECT_GT(results.items()[0].find("quantities")->items().size(), 3U);
    EXPECT_NE(expect_success({"parity", out}).out.find("pass"), std::string::npos);
}

TEST(Program, ParityChecksImagesAndFailsOnWrongWeights) {
    const TemporaryFolder folder;
    fs::create_directories(folder / "cases");
    fs::copy(testing::golden_path("image-preprocess"), folder / "cases/images");
    EXPECT_TRUE(expect_success({"parity", folder / "cases"}).out.starts_with("pass  images"));

    const std::string wrong = folder / "cases/wrong";
    expect_success({"init", testing::golden_path("llama"), wrong});
    fs::copy_file(testing::golden_path("llama/expected.safetensors"), fs::path(wrong) / "expected.safetensors");
    const Answer failed = testing::run_program({"parity", folder / "cases"});
    EXPECT_EQ(failed.status, 1);
    EXPECT_TRUE(failed.out.ends_with("1 of 2 cases pass\n")) << failed.out;
}

}  // namespace
}  // namespace tessera
