// Bad input at the program's door: one line that says what is wrong, a status of 1 (2 for wrong usage), and nothing
// written.
#include <gtest/gtest.h>

#include "cli/program.h"
#include "support/gguf_builder.h"
#include "support/temporary_folder.h"
#include "support/tiny_config.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using testing::expect_refusal;
using testing::expect_success;
using testing::replaced;

const std::string one_layer = R"({"model_type": "llama", "vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 1,
    "num_attention_heads": 4, "intermediate_size": 64})";

class Refusals : public ::testing::Test {
   protected:
    void SetUp() override { expect_success({"init", folder.write("tiny.json", one_layer), model}); }

    // A copy of the model with another config.json.
    std::string with_config(const std::string& name, const std::string& text) {
        fs::copy(model, folder / name, fs::copy_options::recursive);
        folder.write(name + "/config.json", text);
        return folder / name;
    }
    // Every command that opens a model refuses it, and convert leaves nothing behind.
    void expect_refused(const std::string& source, const std::vector<std::string>& parts) {
        expect_refusal(1, {"generate", source, "--ids", "1"}, parts);
        expect_refusal(1, {"convert", source, out}, parts);
        EXPECT_FALSE(fs::exists(out));
    }

    testing::TemporaryFolder folder;
    std::string model = folder / "model", out = folder / "out";
};

TEST_F(Refusals, WrongUsage) {
    expect_refusal(2, {"fly"}, {"'fly'", "generate", "--help"});
    expect_refusal(2, {"fly\n\x1b[31m"}, {"fly\\x0a\\x1b[31m"});
    const std::vector<std::string> complete[] = {{"generate", "a"},  {"parity", "a"},       {"inspect", "a"},
                                                 {"init", "a", "b"}, {"convert", "a", "b"}, {"ops"}};
    for (std::vector<std::string> arguments : complete) {
        arguments.push_back("--no-such-option");
        expect_refusal(2, arguments, {text_of("tessera ", arguments[0], ": "), "--no-such-option"});
    }
    for (const char* command : {"generate", "parity", "inspect", "init", "convert"})
        expect_refusal(2, {command}, {std::string("tessera ") + command + " --help"});
    expect_refusal(2, {"generate", model}, {"--ids"});
    expect_refusal(2, {"generate", model, "--ids", "1", "--max-new", "many"}, {"--max-new", "many"});
}

TEST_F(Refusals, BadValuesOfOptions) {
    for (const char* ids : {"", "x", "1,", "1,,2", "-1", "1 2", "99999999999999999999", "1.5"})
        expect_refusal(1, {"generate", model, "--ids", ids}, {"--ids", ids});
    expect_refusal(1, {"generate", model, "--ids", "97"}, {"97"});
    expect_refusal(1, {"generate", model, "--ids", "1", "--max-new", "0"}, {"--max-new", "0"});
    expect_refusal(1, {"generate", model, "--ids", "1", "--max-new", "9223372036854775807"}, {"--max-new"});
    expect_refusal(1, {"generate", model, "--ids", "1", "--device", "tpu"}, {"--device", "'tpu'"});
    expect_refusal(1, {"convert", model, out, "--dtype", "int3"}, {"--dtype", "'int3'"});
    expect_refusal(1, {"convert", model, out, "--max-shard", "5 apples"}, {"--max-shard", "5 apples"});
    expect_refusal(1, {"init", folder / "tiny.json", out, "--seed", "-1"}, {"--seed", "-1"});
    EXPECT_FALSE(fs::exists(out));
}

TEST_F(Refusals, ADeviceThatIsNotThere) {
    if (find_driver(DeviceKind::CUDA) != nullptr) GTEST_SKIP() << "this build has CUDA";
    expect_refusal(1, {"generate", model, "--ids", "1", "--device", "cuda"}, {"--device cuda", "built without"});
    expect_refusal(1, {"parity", model, "--device", "cuda"}, {"--device cuda"});
}

TEST_F(Refusals, FoldersWithoutAModel) {
    expect_refused(folder / "nowhere", {"nowhere", "no such"});
    fs::create_directory(folder / "empty");
    expect_refused(folder / "empty", {"empty", "config.json"});
    folder.write("bare/config.json", one_layer);
    expect_refused(folder / "bare", {"bare", "no weights", "model.safetensors"});
    expect_refused(folder / "tiny.json", {"tiny.json"});
    expect_refusal(1, {"inspect", folder / "nowhere"}, {"nowhere"});
    expect_refusal(1, {"parity", folder / "nowhere"}, {"nowhere"});
    expect_refusal(1, {"parity", model}, {"expected.safetensors"});
}

TEST_F(Refusals, BrokenWeights) {
    with_config("cut", one_layer);
    fs::resize_file(folder / "cut/model.safetensors", 4000);
    expect_refused(folder / "cut", {"cut/model.safetensors", "tensor"});
    with_config("noise", one_layer);
    folder.write("noise/model.safetensors", "not a header at all");
    expect_refused(folder / "noise", {"noise/model.safetensors"});
}

TEST_F(Refusals, BadConfigurations) {
    expect_refused(with_config("json", "{\"model_type\": "), {"json/config.json"});
    expect_refused(with_config("stranger", replaced(one_layer, "llama", "lla\\nma\\u001b[31m")),
                   {"stranger/config.json: model_type", "lla\\x0ama\\x1b[31m", "is not known"});
    expect_refused(
        with_config("tall", replaced(one_layer, "\"num_hidden_layers\": 1", "\"num_hidden_layers\": 2000000000")),
        {"tall/config.json: num_hidden_layers", "2000000000"});
    expect_refused(with_config("words", replaced(one_layer, "97", "\"many\"")),
                   {"words/config.json: vocab_size", "many"});
    expect_refused(with_config("other", replaced(one_layer, "97", "98")),
                   {"other", "lm_head.weight", "(97, 32)", "(98, 32)"});
    expect_refused(with_config("two", replaced(one_layer, "\"num_hidden_layers\": 1", "\"num_hidden_layers\": 2")),
                   {"two", "missing", "model.layers.1."});
}

TEST_F(Refusals, InitOfMoreThanTheMachineHolds) {
    const std::string config =
        folder.write("huge.json", R"({"model_type": "llama", "hidden_size": 1048576, "num_attention_heads": 1024,
            "intermediate_size": 1048576, "num_hidden_layers": 96})");
    expect_refusal(1, {"init", config, out}, {"huge.json", "parameters"});
    expect_refusal(1, {"init", folder / "nowhere.json", out}, {"nowhere.json"});
    EXPECT_FALSE(fs::exists(out));
}

TEST_F(Refusals, ConvertOntoItself) {
    const std::string before = folder.read("model/model.safetensors");
    expect_refusal(1, {"convert", model, model, "--dtype", "bf16"}, {model, "name another"});
    expect_refusal(1, {"convert", model, folder / "model/../model/", "--dtype", "bf16"}, {"name another"});
    EXPECT_EQ(folder.read("model/model.safetensors"), before);
    expect_refusal(1, {"convert", model, folder / "tiny.json"}, {"tiny.json", "folder"});
}

TEST_F(Refusals, ConvertFollowsNoLinkOutOfTheFolder) {
    folder.write("secret", "of this machine");
    fs::create_symlink(folder / "secret", folder / "model/tokenizer.json");
    expect_refusal(1, {"convert", model, out}, {"model/tokenizer.json", "link"});
    EXPECT_FALSE(fs::exists(out));
}

// No text of an exception of the standard library, or of one of its functions, reaches a person.
TEST_F(Refusals, TheSystemsReasonsAreGivenWithTheFile) {
    fs::create_symlink("second.json", folder / "first.json");
    fs::create_symlink("first.json", folder / "second.json");
    const std::string loop = folder / "first.json", longest = folder / std::string(300, 'x');
    for (const char* command : {"inspect", "score", "eval", "tokenize", "generate", "embed", "train", "convert"}) {
        std::vector<std::string> more;
        if (command == std::string("convert")) more = {out};
        if (command != std::string("inspect") && more.empty()) more = {folder / "tiny.json"};
        if (command == std::string("train")) more = {"-o", out};
        const auto refused = [&](const std::string& path) {
            std::vector<std::string> arguments{command, path};
            arguments.insert(arguments.end(), more.begin(), more.end());
            const testing::Answer run = testing::run_program(arguments);
            EXPECT_EQ(run.status, 1) << command;
            EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
            for (const char* raw : {"filesystem error", "status:", "std::", "basic_", "what()", "not foreseen"})
                EXPECT_EQ(run.err.find(raw), run.err.npos) << command << ": " << run.err;
            return run.err;
        };
        EXPECT_NE(refused(loop).find(loop), std::string::npos) << command;
        EXPECT_NE(refused(longest).find(longest), std::string::npos) << command;
    }
}

TEST_F(Refusals, FilesThatAreEmptyOrCutOff) {
    for (const char* name : {"none.gguf", "none.bin"}) {
        const testing::Answer run = testing::run_program({"inspect", folder.write(name, "")});
        EXPECT_NE(run.err.find(text_of(name, ": ")), run.err.npos) << run.err;
        EXPECT_NE(run.err.find("the file ends within it: 4 bytes are expected, 0 are there"), run.err.npos) << run.err;
    }
    expect_refusal(1, {"inspect", folder.write("none.json", "")}, {"none.json: is empty; JSON is expected"});
    expect_refusal(1, {"inspect", folder.write("words.json", "hello")},
                   {"words.json: column 1: expected a value", "found 'h'"});
    expect_refusal(1, {"inspect", folder.write("comma.json", "{\"a\": 1,}")},
                   {"comma.json: column 9: expected a key in quotes"});
    expect_refusal(1, {"regress", folder.write("zero.tsv", std::string_view("a\0b\t1\n", 6))},
                   {"zero.tsv", "no text", "byte 1"});
}

TEST_F(Refusals, BinaryDataForTexts) {
    const std::string binary = folder.write("binary", "\xff\xfe"),
                      zero = folder.write("zero", std::string_view("a\0", 2));
    for (const std::string& file : {binary, zero})
        for (const char* command : {"embed", "generate", "tokenize"})
            expect_refusal(1, {command, model, "-f", file}, {file, "no text"});
    expect_refusal(1, {"embed", model, "a", "\xff"}, {"text 2", "no text"});
}

TEST_F(Refusals, NeitherMergeNorTrainingCopyWhatALinkShows) {
    folder.write("secret", "of this machine");
    for (const char* name : {"chat_template.jinja", "tokenizer_config.json", "preprocessor_config.json"}) {
        fs::create_symlink(folder / "secret", folder / "model" / name);
        folder.write("adapters/adapter_config.json", R"({"peft_type": "LORA", "lora_alpha": 1,
            "base_model_name_or_path": ")" + model + "\"}");
        folder.write("text.txt", "some text");
        for (const std::string command : {"merge", "finetune"}) {
            const testing::Answer answer =
                command == "merge"
                    ? testing::run_program({"merge", folder / "adapters", "-o", out})
                    : testing::run_program({"finetune", model, folder / "text.txt", "-o", out, "--lora", "r=1"});
            EXPECT_EQ(answer.status, 1) << command;
            for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
                EXPECT_FALSE(entry.path().string().starts_with(out) && entry.path().filename() == name) << command;
        }
        fs::remove(folder / "model" / name);
    }
}

TEST_F(Refusals, AdaptersWithoutTheirBase) {
    folder.write("adapters/adapter_config.json",
                 R"({"peft_type": "LORA", "r": 2, "lora_alpha": 1, "base_model_name_or_path": "/no/such/base"})");
    const std::string adapters = folder / "adapters";
    expect_refusal(1, {"merge", adapters, "-o", out}, {"/no/such/base", "name the base with --base"});
    expect_refusal(1, {"embed", adapters, "x"}, {"/no/such/base", "tessera merge", "--base"});
    expect_refusal(1, {"generate", adapters, "x"}, {"/no/such/base", "--adapter"});
}

std::string quantised_file(const testing::TemporaryFolder& folder) {
    testing::GgufBuilder builder;
    builder.set("general.architecture", "llama").set("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    for (const auto& [key, value] : {std::pair("embedding_length", 32u),
                                     {"feed_forward_length", 64u},
                                     {"block_count", 1u},
                                     {"context_length", 64u},
                                     {"attention.head_count", 4u},
                                     {"attention.head_count_kv", 4u}})
        builder.set(text_of("llama.", key), value);
    const auto matrix = [&](const std::string& name, std::int64_t rows, std::int64_t columns) {
        const auto bytes = static_cast<std::size_t>(bytes_of(DType::Q8_0, rows * columns));
        builder.records.push_back(
            {.name = name + ".weight",
             .dimensions = {static_cast<std::uint64_t>(columns), static_cast<std::uint64_t>(rows)},
             .type = testing::GgufBuilder::file_types().at(DType::Q8_0),
             .data = testing::Bytes(bytes)});
    };
    matrix("token_embd", 16, 32);
    for (const char* part : {"attn_q", "attn_k", "attn_v", "attn_output"}) matrix(text_of("blk.0.", part), 32, 32);
    for (const char* part : {"ffn_gate", "ffn_up"}) matrix(text_of("blk.0.", part), 64, 32);
    matrix("blk.0.ffn_down", 32, 64);
    for (const char* norm : {"blk.0.attn_norm.weight", "blk.0.ffn_norm.weight", "output_norm.weight"})
        builder.tensor(norm, Tensor::full({32}, 1));
    builder.write(folder / "model.gguf");
    return folder / "model.gguf";
}

TEST_F(Refusals, ConvertOfQuantisedWeightsNeedsADtype) {
    const std::string file = quantised_file(folder);
    expect_refusal(1, {"convert", file, out}, {"model.gguf", "q8_0", "--dtype"});
    EXPECT_FALSE(fs::exists(out));
    expect_success({"convert", file, out, "--dtype", "bf16"});
    expect_success({"generate", out, "--ids", "1,2", "--max-new", "2"});
}

}  // namespace
}  // namespace tessera
