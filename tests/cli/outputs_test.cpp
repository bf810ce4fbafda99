// What commands write: never over what they read, over nothing else unless asked, whole or not at all.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "cli/program.h"
#include "support/temporary_folder.h"
#include "tessera/formats/atomic_file.h"
#include "tessera/formats/checkpoint.h"
#include "tessera/formats/image/image.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using testing::expect_refusal;
using testing::expect_success;
using testing::run_in_shell;
using testing::run_program;

const char* const output_config =
    R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 300, "hidden_size": 16,
    "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 32,
    "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": 2})";

class Outputs : public ::testing::Test {
   protected:
    Outputs() {
        folder_.write("small.json", output_config);
        expect_success({"init", at("small.json"), at("model")});
        std::string text;
        for (int i = 0; i < 60; ++i) text += text_of("Line ", i, " says that ", i * i % 17, " birds sat on a wire.\n");
        folder_.write("book.txt", text);
        folder_.write("set.scenes.json", R"({"pictures": 3, "size": 32, "tasks": {"count": 1}})");
    }

    std::string at(const std::string& name) const { return folder_ / name; }

    std::vector<std::string> finetune(const std::string& out, std::vector<std::string> more = {}) const {
        std::vector<std::string> words{"finetune", at("model"),      at("book.txt"),    "-o",     out,
                                       "steps=3",  "data.length=16", "tokenizer=bytes", "batch=2"};
        for (const std::string& word : more) {  // in place of the same setting before it
            if (const std::size_t equals = word.find('='); equals != word.npos)
                std::erase_if(
                    words, [&](const std::string& earlier) { return earlier.starts_with(word.substr(0, equals + 1)); });
            words.push_back(word);
        }
        return words;
    }

    // The commands that write a folder of a model, on the folder they are given.
    std::map<std::string, std::vector<std::string>> writers(const std::string& out) const {
        return {{"init", {"init", at("small.json"), out, "--seed", "7"}},
                {"convert", {"convert", at("model"), out, "--dtype", "bf16"}},
                {"merge", {"merge", at("adapter"), "-o", out}},
                {"finetune", finetune(out)}};
    }

    // Every file below a folder with what is in it.
    std::map<std::string, std::string> content(const std::string& name) const {
        std::map<std::string, std::string> files;
        for (const auto& entry : fs::recursive_directory_iterator(folder_ / name))
            if (entry.is_regular_file() && !entry.path().string().ends_with(".tessera-run"))
                files[entry.path().lexically_relative(folder_.path())] =
                    folder_.read(entry.path().lexically_relative(folder_.path()));
        return files;
    }

    testing::TemporaryFolder folder_;
};

TEST_F(Outputs, NothingIsOverwrittenUnasked) {
    expect_success(finetune(at("adapter"), {"--lora", "r=2"}));
    for (const char* held : {"notes.txt", "config.json", "model-00001-of-00002.safetensors", ".hidden"}) {
        folder_.write(text_of(held, ".d/", held), "mine");
        const std::string out = at(text_of(held, ".d"));
        for (auto [name, words] : writers(out)) {
            SCOPED_TRACE(name);
            expect_refusal(1, words, {out, "--overwrite"});
            EXPECT_EQ(content(text_of(held, ".d")).size(), 1u);
        }
        expect_refusal(1, {"tokenizer", "train", at("book.txt"), "--vocab", "300", "-o", out}, {out, "--overwrite"});
        expect_refusal(1, {"scenes", "write", at("set.scenes.json"), "-o", out}, {out, "--overwrite"});
    }
    fs::create_directory_symlink("notes.txt.d", folder_ / "link");
    for (auto [name, words] : writers(at("link"))) expect_refusal(1, words, {at("link"), "--overwrite"});
    folder_.write("taken", "mine");
    for (auto [name, words] : writers(at("taken"))) expect_refusal(1, words, {at("taken"), "is a file"});
    EXPECT_EQ(folder_.read("taken"), "mine");
}

TEST_F(Outputs, WhatIsReadIsNeverOverwritten) {
    expect_success(finetune(at("adapter"), {"--lora", "r=2"}));
    fs::create_directories(folder_ / "models");
    fs::rename(folder_ / "model", folder_ / "models/m");
    fs::create_directory_symlink("models/m", folder_ / "model");
    const auto before = content("models"), adapter = content("adapter");
    for (const std::string out : {"model", "models/m", "models/m/", "models/./m", "models", "models/../models/m"})
        for (auto [name, words] : writers(at(out))) {
            if (name == "init") continue;
            words.emplace_back("--overwrite");
            SCOPED_TRACE(name + " " + out);
            expect_refusal(1, words, {"read"});
        }
    expect_refusal(1, {"init", at("model"), at("models/m"), "--overwrite"}, {"read"});
    expect_refusal(1, {"merge", at("adapter"), "-o", at("adapter"), "--overwrite"}, {"adapter", "read"});
    EXPECT_EQ(content("models"), before);
    EXPECT_EQ(content("adapter"), adapter);
}

TEST_F(Outputs, OverwritingReplacesTheModelAndLeavesTheRest) {
    expect_success(finetune(at("adapter"), {"--lora", "r=2"}));
    for (const std::string name : {"init", "convert", "merge", "finetune"}) {
        SCOPED_TRACE(name);
        const std::string out = at("out-" + name);
        for (const char* file : {"model-00001-of-00002.safetensors", "model.safetensors.index.json", "tokenizer.model",
                                 "adapter_config.json", "README.md", "notes/chapter.txt", ".my.tmp"})
            folder_.write("out-" + name + "/" + file, "mine");
        std::vector<std::string> words = writers(out).at(name);
        words.emplace_back("--overwrite");
        expect_success(words);
        for (const char* file : {"README.md", "notes/chapter.txt", ".my.tmp"})
            EXPECT_EQ(folder_.read("out-" + name + "/" + file), "mine");
        for (const char* file : {"model-00001-of-00002.safetensors", "model.safetensors.index.json",
                                 "adapter_config.json", "tokenizer.model", ".new-run"})
            EXPECT_FALSE(fs::exists(out + "/" + file)) << file;
        EXPECT_TRUE(formats::open_checkpoint(out).tensors.contains("model.norm.weight"));
        expect_success({"inspect", out});
    }
    for (const auto& entry : fs::directory_iterator(folder_.path()))
        EXPECT_FALSE(entry.path().filename().string().starts_with('.')) << entry.path();
}

TEST_F(Outputs, AFailedCommandLeavesNothing) {
    folder_.write("broken/config.json", R"({"model_type": "llama"})");
    folder_.write("broken/model.safetensors", "broken");
    folder_.write("empty.txt", "");
    expect_refusal(1, {"convert", at("broken"), at("a/b")}, {});
    expect_refusal(1, {"tokenizer", "train", at("missing.txt"), "-o", at("a/b")}, {});
    EXPECT_NE(run_program(finetune(at("a/b"), {"data.train=" + at("empty.txt")})).status, 0);
    EXPECT_NE(
        run_program(finetune(at("a/b"), {"optimizer.learning_rate=1e30", "steps=1", "spike=0", "data.length=100000"}))
            .status,
        0);
    EXPECT_FALSE(fs::exists(folder_ / "a"));
}

TEST_F(Outputs, AFullDiskLeavesWhatWasThere) {
    expect_success({"convert", at("model"), at("out")});
    folder_.write("out/notes.txt", "mine");
    const auto before = content("out");
    for (const char* command : {"convert $M $O --overwrite", "init $M/config.json $O --overwrite",
                                "finetune $M $B -o $O --overwrite steps=1 data.length=16 tokenizer=bytes"}) {
        SCOPED_TRACE(command);
        // Files of more than 8 KiB cannot be written.
        EXPECT_NE(
            run_in_shell(text_of("M=", at("model"), " O=", at("out"), " B=", at("book.txt"), " TMPDIR=", at("tmp"),
                                 "; trap '' XFSZ; ulimit -f 16; $TESSERA ", command, " >", at("said"), " 2>&1")),
            0)
            << folder_.read("said");
        EXPECT_NE(folder_.read("said").find("too large"), std::string::npos) << folder_.read("said");
        auto after = content("out");
        std::erase_if(after, [](const auto& file) { return file.first.find(".new-run") != file.first.npos; });
        EXPECT_EQ(after, before);
    }
}

TEST_F(Outputs, AFailedFinalSaveKeepsTheWeights) {
    expect_success(finetune(at("whole")));
    folder_.write("out/config.json/notes.txt", "mine");  // no file can take this name
    std::vector<std::string> words = finetune(at("out"), {"--overwrite"});
    const testing::Answer failed = run_program(words);
    EXPECT_EQ(failed.status, 1);
    for (const char* part : {"config.json", "kept in", "checkpoints/step-00000003"})
        EXPECT_NE(failed.err.find(part), std::string::npos) << failed.err;
    EXPECT_EQ(folder_.read("out/config.json/notes.txt"), "mine");
    fs::rename(folder_ / "out/config.json", folder_ / "out/mine");
    words.back() = "--resume";
    expect_success(words);
    EXPECT_EQ(content("whole").at("whole/model.safetensors"), content("out").at("out/model.safetensors"));
    EXPECT_EQ(folder_.read("out/mine/notes.txt"), "mine");
}

TEST_F(Outputs, LabelsThatCannotBeWrittenAreToldBeforeTraining) {
    folder_.write("labels.tsv", "a good film\tgood\na bad film\t\xff\xfe\n");
    folder_.write("recipe.json",
                  text_of(R"({"model": )", R"({"model_type": "bert", "architectures": ["BertForSequenceClassification"],
        "vocab_size": 300, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32,
        "max_position_embeddings": 64})",
                          R"(, "objective": "labels", "tokenizer": "bytes", "steps": 2,
        "data": {"train": [")",
                          at("labels.tsv"), R"("]}})"));
    expect_refusal(1, {"train", at("recipe.json"), "-o", at("out")}, {"labels.tsv", "line 2", "UTF-8"});
    EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(Outputs, APersonsRecipeIsNotReplaced) {
    const std::string recipe =
        text_of(R"({"model": ")", at("model"), R"(", "tokenizer": "bytes", "steps": 2, "batch": 2,
        "data": {"train": [")",
                at("book.txt"), R"("], "length": 16}})");
    folder_.write("run/recipe.json", recipe);
    expect_refusal(1, {"train", at("run/recipe.json"), "-o", at("run")}, {"run", "read"});
    expect_refusal(1, {"train", at("run/recipe.json"), "-o", at("run"), "--overwrite"}, {"run", "read"});
    EXPECT_EQ(folder_.read("run/recipe.json"), recipe);
    EXPECT_EQ(content("run").size(), 1u);
    // A run's own may start it again.
    expect_success({"train", at("run/recipe.json"), "-o", at("again")});
    expect_success({"train", at("again/recipe.json"), "-o", at("again"), "--overwrite"});
}

TEST_F(Outputs, SingleFilesTakeNobodysPlace) {
    formats::write_png(folder_ / "in.png", formats::Image(8, 8));
    for (const char* name : {"notes.png", "book.jpg"}) {
        folder_.write(name, "mine");
        const std::string before = folder_.read(name);
        expect_refusal(1, {"regress", "-o", at(name)}, {name, "holds something else"});
        expect_refusal(1, {"scenes", "preview", at("set.scenes.json"), "-o", at(name)}, {name, "holds something else"});
        expect_refusal(1, {"generate", at("model"), "x", "--image", at("in.png"), "--draw", at(name)},
                       {name, "holds something else"});
        EXPECT_EQ(folder_.read(name), before);
    }
    fs::create_symlink("in.png", folder_ / "link.png");
    for (const char* name : {"in.png", "./in.png", "link.png"})
        expect_refusal(1, {"generate", at("model"), "x", "--image", at("in.png"), "--draw", at(name)}, {"read"});
    folder_.write("points.tsv", "1\t2\n2\t3\n3\t5\n4\t4\n");
    expect_refusal(1, {"regress", at("points.tsv"), "-o", at("points.tsv")}, {"points.tsv", "read"});
    expect_refusal(1, {"regress", "-o", at("model")}, {"model", "folder"});
    expect_refusal(1, {"regress", "-o", "/dev/null"}, {"/dev/null"});
}

// A file of the same kind may be a person's own.
TEST_F(Outputs, SingleFilesAreReplacedWhereThatWasAsked) {
    const std::vector<std::vector<std::string>> commands{
        {"regress", "--steps", "1", "-o", at("plot.svg")},
        {"scenes", "preview", at("set.scenes.json"), "-o", at("sheet.png")},
        {"embed", at("words"), "a text", "-o", at("vectors.npy")}};
    fs::copy(at("model"), at("words"));
    expect_success(
        {"tokenizer", "train", "--kind", "bpe", "--vocab", "290", at("book.txt"), "-o", at("words"), "--overwrite"});
    for (const std::vector<std::string>& words : commands) {
        const std::string name = fs::path(words.back()).filename().string();
        folder_.write(name, "");  // nobody misses an empty one
        expect_success(words);
        const std::string before = folder_.read(name);
        expect_refusal(1, words, {name, "is there already", "--overwrite"});
        EXPECT_EQ(folder_.read(name), before);
        std::vector<std::string> again = words;
        again.push_back("--overwrite");
        expect_success(again);
    }
    expect_refusal(2, {"scenes", "preview", at("set.scenes.json")}, {"-o SHEET is missing"});
}

TEST_F(Outputs, NamesOfFoldersGiveATerminalNoOrders) {
    expect_success(finetune(at("adapter"), {"--lora", "r=2"}));
    for (const auto& [name, words] : writers(at("\x1b[31mred"))) {
        if (name == "finetune") continue;
        std::vector<std::string> again = words;
        if (fs::exists(at("\x1b[31mred"))) again.push_back("--overwrite");
        const testing::Answer seen = testing::run_on_terminal(again);
        EXPECT_EQ(seen.status, 0) << seen.out;
        EXPECT_EQ(seen.out.find("\x1b[31m"), std::string::npos) << name;
        EXPECT_NE(seen.out.find("\\x1b[31mred"), std::string::npos) << name << seen.out;
    }
    // Nor in JSON, which escapes those of ASCII alone.
    const std::string order = "\xc2\x9b";
    for (const std::vector<std::string>& words : std::initializer_list<std::vector<std::string>>{
             {"merge", at("adapter"), "-o", at(order + "merged"), "--json"},
             {"tokenizer", "train", "--vocab", "290", at("book.txt"), "-o", at(order + "words"), "--json"},
             {"scenes", "preview", at("set.scenes.json"), "-o", at(order + ".png"), "--json"},
             {"scenes", "write", at("set.scenes.json"), "-o", at(order + "scenes"), "--json"}}) {
        const testing::Answer seen = testing::run_on_terminal(words);
        EXPECT_EQ(seen.status, 0) << seen.out;
        EXPECT_EQ(seen.out.find(order), std::string::npos) << words[0] << seen.out;
        EXPECT_NE(seen.out.find("u009b"), std::string::npos) << words[0] << seen.out;
    }
}

TEST_F(Outputs, AFullStandardOutputIsAnError) {
    const auto full = [&](const std::string& words, const char* to = ">/dev/full") {
        const int status = run_in_shell(text_of("$TESSERA ", words, " ", to, " 2>", at("said")));
        EXPECT_EQ(status, 1) << words;
        EXPECT_NE(folder_.read("said").find("standard output: cannot be written"), std::string::npos) << words;
    };
    for (const std::string& words : {std::string("--help"), std::string("--version"), std::string("generate --help"),
                                     std::string("ops"), "inspect " + at("model"), std::string("regress --steps 1"),
                                     "generate " + at("model") + " --ids 5,6 --max-new 9", std::string("train --keys"),
                                     "init " + at("small.json") + " " + at("made")})
        full(words);
    // More than a buffer holds: the error comes while it prints.
    full("inspect llama-3-8b --parameters");
    full("--version", ">&-");
    full("inspect " + at("model"), ">&-");
    // The last one has been written all the same, and not into standard output's place.
    expect_success({"inspect", at("made")});
    EXPECT_EQ(run_in_shell("$TESSERA convert " + at("model") + " " + at("other") + " >&- 2>/dev/null"), 1);
    EXPECT_EQ(content("model").at("model/model.safetensors"), content("other").at("other/model.safetensors"));
    EXPECT_EQ(run_in_shell("test -z \"$( { $TESSERA scenes texts " + at("set.scenes.json") +
                           " | head -c 1 >/dev/null; } 2>&1 )\""),
              0);
}

// Half a million tokens would take minutes.
TEST_F(Outputs, GeneratingStopsWhereNobodyCanRead) {
    folder_.write("long.json", [] {
        std::string config = output_config;
        config.replace(config.find("64, \"bos"), 2, "900000");
        return config.replace(config.find(", \"bos_token_id\": 1, \"eos_token_id\": 2"), 38, "");
    }());
    expect_success({"init", at("long.json"), at("long")});
    EXPECT_EQ(
        run_in_shell("$TESSERA generate " + at("long") + " --ids 5,6 --max-new 500000 >/dev/full 2>" + at("said")), 1);
    EXPECT_NE(folder_.read("said").find("standard output"), std::string::npos) << folder_.read("said");
}

class Stopping : public Outputs {
   protected:
    std::function<bool()> steps_taken(const std::string& out, int steps) const {
        return [this, out, steps] {
            std::ifstream file(folder_ / out / "metrics.jsonl");
            int lines = 0;
            for (std::string line; std::getline(file, line);) ++lines;
            return lines >= steps;
        };
    }

    std::vector<std::string> losses(const std::string& out) const {
        std::vector<std::string> lines;
        std::istringstream file(folder_.read(out + "/metrics.jsonl"));
        for (std::string line; std::getline(file, line);)
            lines.push_back(line.substr(0, line.find(",\"units_per_second")));
        return lines;
    }
};

TEST_F(Stopping, LeavesACheckpointAndTheWayToGoOn) {
    const std::vector<std::string> long_run{"steps=400", "evaluate.every=7", "data.validation=" + at("book.txt"),
                                            "ema=0.9"};
    expect_success(finetune(at("whole"), long_run));
    for (const int signal : {SIGINT, SIGTERM}) {
        const std::string name = text_of("out", signal);
        const auto stopped = testing::run_and_signal(finetune(at(name), long_run), signal, steps_taken(name, 9));
        EXPECT_EQ(stopped.status, 128 + signal) << stopped.err;
        EXPECT_NE(stopped.err.find("checkpoints/step-"), std::string::npos) << stopped.err;
        EXPECT_FALSE(fs::exists(at(name) + "/config.json"));
        // The command that it names does go on.
        const std::size_t begin = stopped.err.find("to go on: tessera ");
        ASSERT_NE(begin, std::string::npos) << stopped.err;
        const std::string command = stopped.err.substr(begin + std::string("to go on: tessera ").size());
        ASSERT_EQ(run_in_shell("$TESSERA " + command.substr(0, command.find('\n')) + " >/dev/null"), 0);
        EXPECT_EQ(losses(name), losses("whole"));
        EXPECT_EQ(folder_.read(name + "/model.safetensors"), folder_.read("whole/model.safetensors"));
        EXPECT_FALSE(fs::exists(at(name) + "/checkpoints"));  // save.every is 0
    }
}

TEST_F(Stopping, AClosedPipeStopsATrainingAsCtrlCDoes) {
    const int status = run_in_shell("cd " + folder_.path().string() +
                                    " && { $TESSERA finetune model book.txt -o out steps=100000 data.length=16 batch=2 "
                                    "tokenizer=bytes 2>said; echo $? >status; } | head -n 1 >/dev/null");
    EXPECT_EQ(status, 0);
    EXPECT_EQ(folder_.read("status"), text_of(128 + SIGPIPE, "\n"));
    EXPECT_NE(folder_.read("said").find("checkpoints/step-"), std::string::npos) << folder_.read("said");
}

TEST_F(Stopping, AComparisonGoesOn) {
    for (const char* name : {"a", "b"})
        folder_.write(text_of(name, ".json"),
                      text_of(R"({"model": ")", at("model"), R"(", "tokenizer": "bytes", "batch": 2, "steps": 300,
                      "data": {"train": [")",
                              at("book.txt"), R"("], "length": 16}})"));
    std::vector<std::string> words{"compare", at("a.json"), at("b.json"), "-o", at("both"), "--context", "8"};
    const auto stopped = testing::run_and_signal(words, SIGINT, steps_taken("both/b", 3));
    EXPECT_EQ(stopped.status, 130) << stopped.err;
    EXPECT_NE(stopped.err.find("both/b/checkpoints/step-"), std::string::npos) << stopped.err;
    words.emplace_back("--resume");
    expect_success(words);
    EXPECT_EQ(folder_.read("both/a/model.safetensors"), folder_.read("both/b/model.safetensors"));
}

TEST_F(Stopping, ASecondTrainingInTheFolderIsRefused) {
    const auto second = [&, taken = steps_taken("out", 3)] {
        if (!taken()) return false;
        expect_refusal(1, finetune(at("out"), {"--resume"}), {"out", "another training"});
        expect_refusal(1, finetune(at("out"), {"--overwrite"}), {"out", "another training"});
        expect_refusal(1, {"convert", at("model"), at("out"), "--overwrite"}, {"out", "training"});
        return true;
    };
    EXPECT_EQ(testing::run_and_signal(finetune(at("out"), {"steps=100000"}), SIGINT, second).status, 130);
}

}  // namespace
}  // namespace tessera
