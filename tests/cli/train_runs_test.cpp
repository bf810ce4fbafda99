// Runs that are interrupted, replaced, resumed on other data, or asked for in two ways at once.
#include <gtest/gtest.h>

#include <csignal>

#include "cli/program.h"
#include "support/temporary_folder.h"
#include "tessera/formats/config.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using formats::Json;
using testing::expect_refusal;
using testing::expect_success;

class TrainRuns : public ::testing::Test {
   protected:
    TrainRuns() {
        std::string text;
        for (int i = 0; i < 60; ++i) text += text_of("Line ", i, " says that ", i * i % 17, " birds sat on a wire.\n");
        folder_.write("book.txt", text);
        folder_.write("recipe.json", R"({"model": {"model_type": "gpt2", "n_embd": 16, "n_layer": 1, "n_head": 2,
            "n_positions": 64, "vocab_size": 300}, "tokenizer": "bytes", "data": {"train": "book.txt", "length": 16},
            "batch": 2, "steps": 4, "save": {"every": 2}})");
    }

    std::string at(const std::string& name) const { return folder_ / name; }
    std::vector<std::string> train(const std::string& out, const std::vector<std::string>& more = {}) const {
        std::vector<std::string> words{"train", at("recipe.json"), "-o", at(out)};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    void append(const std::string& file, const std::string& text) const {
        folder_.write(file, folder_.read(file) + text);
    }

    testing::TemporaryFolder folder_;
};

TEST_F(TrainRuns, ResumingAndReplacingAreNotBothPossible) {
    expect_refusal(2, train("out", {"--resume", "--overwrite"}), {"--resume", "--overwrite", "not both"});
    expect_refusal(2, {"compare", at("recipe.json"), "-o", at("out"), "--resume", "--overwrite"}, {"not both"});
    expect_refusal(2, {"finetune", at("model"), at("book.txt"), "-o", at("out"), "--resume", "--overwrite"},
                   {"not both"});
    EXPECT_FALSE(fs::exists(at("out")));
}

TEST_F(TrainRuns, AFolderHasAName) { expect_refusal(2, {"train", at("recipe.json"), "-o", ""}, {"-o", "''"}); }

TEST_F(TrainRuns, OneSettingHasOneValue) {
    expect_refusal(1, train("out", {"batch=2", "steps=5", "batch=3"}), {"batch", "said twice", "2 and 3"});
    expect_success(train("out", {"batch=2", "steps=1", "batch=2.0"}));
    expect_refusal(
        1, {"finetune", at("out"), at("book.txt"), "--lr", "1e-3", "optimizer.learning_rate=1", "-o", at("tuned")},
        {"optimizer.learning_rate", "said twice", "0.001 and 1"});
    // What --lora stands for where it says no rank is no setting that was said.
    expect_success({"finetune", at("out"), at("book.txt"), "--lora", "alpha=4", "lora.rank=2", "steps=1",
                    "data.length=16", "-o", at("tuned")});
    const Json tuned = Json::read(at("tuned/recipe.json"));
    EXPECT_EQ(tuned.find("lora")->find("rank")->as_integer(), 2);
}

TEST_F(TrainRuns, AnInterruptedReplacementGoesOnFromItsFolder) {
    expect_success(train("out"));
    const testing::Answer stopped =
        testing::run_and_signal(train("out", {"steps=1000000", "--overwrite"}), SIGINT, [&] {
            std::error_code error;
            return fs::exists(at("out/.new-run/checkpoints/step-00000002"), error);
        });
    EXPECT_EQ(stopped.status, 130) << stopped.err;
    const std::string steps = stopped.err.substr(stopped.err.find("after step ") + 11);
    const std::string done = steps.substr(0, steps.find(' '));
    const std::string said =
        expect_success({"train", at("out"), "--resume", text_of("steps=", std::stoll(done) + 1)}).out;
    EXPECT_NE(said.find("after step " + done + " of the run that is to replace the one there"), said.npos) << said;
    EXPECT_FALSE(fs::exists(at("out/.new-run")));
    const Json recipe = Json::read(at("out/recipe.json"));
    EXPECT_EQ(recipe.find("steps")->as_integer(), std::stoll(done) + 1);
    fs::create_directories(at("out/.new-run/cache"));
    expect_refusal(1, {"train", at("out"), "--resume"}, {".new-run/recipe.json", "has learned nothing yet"});
}

TEST_F(TrainRuns, AClosedOutputEndsARunLikeAnInterruption) {
    const std::string run = text_of("\"$TESSERA\" train '", at("recipe.json"), "' steps=100000 -o '", at("out"),
                                    "' 2> '", at("errors"), "' | head -n 2 > /dev/null");
    EXPECT_EQ(testing::run_in_shell(run), 0);
    const std::string errors = folder_.read("errors");
    EXPECT_TRUE(errors.starts_with("tessera: standard output was closed: stopped after step ")) << errors;
    EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
    EXPECT_FALSE(fs::is_empty(at("out/checkpoints")));
    // Before the first step there is nothing to keep.
    EXPECT_EQ(testing::run_in_shell(text_of("\"$TESSERA\" train '", at("recipe.json"), "' steps=100000 -o '",
                                            at("none"), "' 2> '", at("errors"), "' | true")),
              0);
    EXPECT_NE(folder_.read("errors").find("standard output was closed"), std::string::npos) << folder_.read("errors");
}

TEST_F(TrainRuns, OtherDataIsRefused) {
    folder_.write("held.txt", folder_.read("book.txt"));
    const std::vector<std::string> held{"data.validation=" + at("held.txt"), "evaluate.every=2"};
    expect_success(train("out", held));
    const std::string book = folder_.read("book.txt"), metrics = folder_.read("out/metrics.jsonl");
    folder_.write("book.txt", book);  // the same again, at another time
    expect_success({"train", at("out"), "--resume"});
    append("book.txt", "One line more.\n");
    expect_refusal(1, {"train", at("out"), "--resume", "steps=6"},
                   {"other data", "data.train: ", "book.txt: ", text_of(book.size(), " bytes → "),
                    text_of(book.size() + 15, " bytes")});
    folder_.write("book.txt", "l" + book.substr(1));
    expect_refusal(1, {"train", at("out"), "--resume", "steps=6"}, {"data.train", "as many, and others"});
    folder_.write("book.txt", book);
    append("held.txt", "One line more.\n");
    expect_refusal(1, {"train", at("out"), "--resume", "steps=6"}, {"data.validation", "held.txt"});
    EXPECT_EQ(folder_.read("out/metrics.jsonl"), metrics);
    // Checkpoints from before this was kept go on.
    for (const auto& entry : fs::directory_iterator(at("out/checkpoints"))) {
        Json facts = Json::read(entry.path() / "state/trainer.json");
        facts.set("data", Json());
        facts.write(entry.path() / "state/trainer.json");
    }
    expect_success({"train", at("out"), "--resume", "steps=6"});
    append("held.txt", "And one more.\n");  // of which is kept from now on what it is
    expect_refusal(1, {"train", at("out"), "--resume", "steps=8"}, {"data.validation", "held.txt"});
}

TEST_F(TrainRuns, AFileThatIsAddedToAFolderIsOtherData) {
    folder_.write("books/one.txt", folder_.read("book.txt"));
    expect_success(train("out", {"data.train=" + at("books")}));
    folder_.write("books/notes.log", "no text of the set");
    expect_success({"train", at("out"), "--resume", "steps=5"});
    folder_.write("books/two.txt", "More.\n");
    expect_refusal(1, {"train", at("out"), "--resume", "steps=6"}, {"data.train", "→ 2 files"});
}

TEST_F(TrainRuns, ATextThatIsNotUtf8IsRefusedByItsLine) {
    append("book.txt", "caf\xE9\n");
    expect_refusal(1, train("out"), {"book.txt: line 61", "not UTF-8"});
    EXPECT_FALSE(fs::exists(at("out")));
}

// What was learned is kept in the folder for temporary files, even where the run's folder is gone.
TEST_F(TrainRuns, ARunWhoseFolderIsGoneIsKept) {
    const std::string run = text_of(
        "cd '", folder_.path().string(), "' && mkdir kept && { { while [ ! -e out/checkpoints ]; do sleep 0.05; done; ",
        "rm -rf out; rm -rf out; } 2> /dev/null & TMPDIR='", at("kept"),
        "' \"$TESSERA\" train recipe.json steps=1000000 -o out 2> errors > said; [ $? = 1 ]; }");
    EXPECT_EQ(testing::run_in_shell(run), 0);
    const std::string errors = folder_.read("errors");
    EXPECT_NE(errors.find("what was learned is kept in " + at("kept/")), std::string::npos) << errors;
    EXPECT_EQ(errors.find("filesystem error"), std::string::npos) << errors;
}

TEST_F(TrainRuns, ListsAreWrittenWithCommas) {
    expect_success(
        train("out", {"steps=1", "freeze=wte,h.0", text_of("data.train=", at("book.txt"), ",", at("recipe.json"))}));
    const Json recipe = Json::read(at("out/recipe.json"));
    EXPECT_EQ(recipe.find("freeze")->dump(0), R"(["wte","h.0"])");
    EXPECT_EQ(recipe.find("data")->find("train")->items().size(), 2u);
    folder_.write("one, two.txt", folder_.read("book.txt"));  // a comma may stand in a name
    expect_success(train("comma", {"steps=1", "data.train=" + at("one, two.txt")}));
    EXPECT_NE(expect_success({"train", "--keys"}).out.find("freeze=wte,h.0"), std::string::npos);
}

}  // namespace
}  // namespace tessera
