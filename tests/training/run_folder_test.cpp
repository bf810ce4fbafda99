// The folder of a run: refused at the start where it cannot hold the run, and never half a checkpoint.
#include "tessera/training/run/run_folder.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "tessera/formats/atomic_file.h"
#include "tessera/formats/output_folder.h"
#include "tessera/training/run/metrics.h"

namespace tessera::training {
namespace {

using testing::expect_error;
using testing::TemporaryFolder;

void pretend_checkpoint(const TemporaryFolder& folder, int step, double validation_loss) {
    folder.write(text_of("checkpoints/step-0000000", step, "/state/trainer.json"),
                 text_of("{\"step\": ", step, ", \"smoothed_loss\": 1, \"validation_loss\": ", validation_loss, "}"));
}

TEST(RunFolder, AFullDiskIsReportedWithBothSizes) {
    const TemporaryFolder folder;
    const RunFolder run(folder.path());
    run.check_room(1);
    expect_error([&] { run.check_room(std::numeric_limits<std::int64_t>::max()); },
                 {folder.path().string(), "room", "9223372036854775807"});
}

TEST(RunFolder, AFolderThatCannotBeMadeIsReported) {
    const TemporaryFolder folder;
    folder.write("file", "");
    expect_error([&] { RunFolder(folder / "file"); }, {"file"});
    expect_error([&] { RunFolder(folder / "file/below"); }, {"file/below"});
}

TEST(RunFolder, WhatAKilledRunLeftIsCleared) {
    const TemporaryFolder folder;
    pretend_checkpoint(folder, 3, 1);
    folder.write("checkpoints/unfinished-step-00000004/model.safetensors", "half");
    folder.write("checkpoints/unfinished-removed-step-00000002/state/optimizer.safetensors", "half");
    folder.write("cache/.tokens.01234567.tessera-part", "half");
    const RunFolder run(folder.path(), {.resume = true});
    EXPECT_FALSE(std::filesystem::exists(folder / "checkpoints/unfinished-step-00000004"));
    EXPECT_FALSE(std::filesystem::exists(folder / "checkpoints/unfinished-removed-step-00000002"));
    EXPECT_FALSE(std::filesystem::exists(folder / "cache/.tokens.01234567.tessera-part"));
    EXPECT_EQ(run.newest_checkpoint(), folder / "checkpoints/step-00000003");
}

// As a run leaves it whose data was cut short under it before it had learned anything.
TEST(RunFolder, AFolderWithHiddenFilesOfAKilledRunIsFree) {
    const TemporaryFolder folder;
    for (const char* name :
         {".tessera-run", ".recipe.json.01234567.tessera-part", "cache/.tokens-1.bin.01234567.tessera-part"})
        folder.write(name, "");
    EXPECT_FALSE(RunFolder(folder.path()).newest_checkpoint());
}

TEST(RunFolder, WhatPeopleKeepThereStays) {
    const TemporaryFolder folder;
    pretend_checkpoint(folder, 3, 1);
    pretend_checkpoint(folder, 4, 1);
    const char* const theirs[] = {"unfinished-novel/chapter",
                                  ".my.tmp",
                                  "checkpoints/unfinished-novel/chapter",
                                  "checkpoints/unfinished-step-00000004/chapter",
                                  "checkpoints/step-notes/chapter",
                                  "checkpoints/step-00000003/notes.txt",
                                  "checkpoints/step-00000003/state/notes.txt",
                                  "cache/.my.tmp",
                                  "cache/mine/config.json",
                                  "cache/tokenizer/notes.txt"};
    for (const char* name : theirs) folder.write(name, "mine");
    { RunFolder(folder.path(), {.resume = true}).prune(1); }
    { RunFolder(folder.path(), {.overwrite = true}).remove_checkpoints(); }
    RunFolder(folder.path(), {.resume = true}).remove_checkpoints();
    for (const char* name : theirs) EXPECT_EQ(folder.read(name), "mine") << name;
    EXPECT_FALSE(std::filesystem::exists(folder / "checkpoints/step-00000004"));
}

TEST(RunFolder, OneRunAtATimeIsAtWorkInIt) {
    const TemporaryFolder folder;
    {
        const RunFolder run(folder / "run");
        expect_error([&] { RunFolder(folder / "run", {.resume = true}); }, {"run", "another training"});
        expect_error([&] { RunFolder(folder / "run", {.overwrite = true}); }, {"run", "another training"});
    }
    RunFolder(folder / "run", {.resume = true});
}

TEST(RunFolder, ARunThatHasNotBegunLeavesNothing) {
    const TemporaryFolder folder;
    { RunFolder(folder / "a/b"); }
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    std::filesystem::create_directory(folder / "empty");
    { RunFolder(folder / "empty"); }
    EXPECT_TRUE(std::filesystem::is_empty(folder / "empty"));
    folder.write("model/config.json", "mine");
    { RunFolder(folder / "model", {.overwrite = true}); }
    EXPECT_EQ(folder.read("model/config.json"), "mine");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "model"), {}), 1);
    RunFolder(folder / "kept").begin();
    EXPECT_TRUE(std::filesystem::exists(folder / "kept/cache"));
}

TEST(RunFolder, WhatIsNotItsOwnIsRefused) {
    const TemporaryFolder folder;
    for (const char* name : {"config.json", "model-00001-of-00002.safetensors", "adapter_config.json", "recipe.json",
                             "notes.txt", ".hidden"}) {
        const TemporaryFolder other;
        other.write(name, "mine");
        expect_error([&] { RunFolder(other.path()); }, {other.path().string(), "holds"});
        EXPECT_THROW(RunFolder{other.path()}, formats::FolderNotEmpty);
        expect_error([&] { RunFolder(other.path(), {.resume = true}); }, {other.path().string(), "to go on"});
        EXPECT_EQ(other.read(name), "mine");
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(other.path()), {}), 1);
    }
}

TEST(RunFolder, AnEarlierResultStaysUntilTheNewOneIsWhole) {
    const TemporaryFolder folder;
    const auto is_there = [&](const char* name) { return std::filesystem::exists(folder / name); };
    pretend_checkpoint(folder, 3, 1);
    for (const char* name : {"config.json", "model.safetensors", "recipe.json", "metrics.jsonl", "tokenizer.json"})
        folder.write(name, "old");
    folder.write("notes.txt", "mine");
    EXPECT_THROW(RunFolder{folder.path()}, EarlierRun);
    {
        RunFolder run(folder.path(), {.overwrite = true});
        run.begin();
        formats::write_file(run.metrics(), "new");
        EXPECT_FALSE(run.newest_checkpoint());
    }
    EXPECT_EQ(folder.read("metrics.jsonl"), "old");
    EXPECT_FALSE(has_result(folder.path()));  // another is about to take its place
    EXPECT_THROW(RunFolder{folder.path()}, EarlierRun);
    RunFolder run(folder.path(), {.resume = true});
    run.begin();
    EXPECT_ANY_THROW(run.save_result([](const auto&) { fail("the disk is full"); }));
    EXPECT_EQ(folder.read("config.json"), "old");
    run.save_result([&](const std::filesystem::path& place) {
        EXPECT_EQ(folder.read("config.json"), "old");
        formats::write_file(place / "config.json", "new");
    });
    EXPECT_EQ(folder.read("config.json"), "new");
    EXPECT_EQ(folder.read("metrics.jsonl"), "new");
    EXPECT_EQ(folder.read("notes.txt"), "mine");
    for (const char* name : {"model.safetensors", "recipe.json", "tokenizer.json", "checkpoints", ".new-run"})
        EXPECT_FALSE(is_there(name)) << name;
    EXPECT_TRUE(has_result(folder.path()));
    expect_error([&] { RunFolder(folder.path(), {.overwrite = true}); }, {"another training"});  // still locked
}

TEST(RunFolder, KeepsTheNewestAndTheBest) {
    const TemporaryFolder folder;
    for (const auto& [step, loss] : {std::pair(1, 5.0), {2, 2.0}, {3, 4.0}, {4, 3.0}, {5, 3.5}})
        pretend_checkpoint(folder, step, loss);
    RunFolder(folder.path(), {.resume = true}).prune(2);
    std::vector<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "checkpoints"))
        left.push_back(entry.path().filename());
    std::sort(left.begin(), left.end());
    EXPECT_EQ(left, (std::vector<std::string>{"step-00000002", "step-00000004", "step-00000005"}));
}

TEST(Metrics, GoOnAfterTheCheckpointAndDropATornLine) {
    const TemporaryFolder folder;
    folder.write("metrics.jsonl", "{\"step\":1,\"loss\":3}\n{\"step\":2,\"loss\":2}\n{\"step\":3,\"loss\":1}\n{\"st");
    {
        Metrics metrics(folder / "metrics.jsonl", 2);
        metrics.add_validation(2, {.loss = 0.5, .targets = 1});
        metrics.add_validation(2, {.loss = 0.5, .targets = 4, .answers = {.total = 4, .correct = 3}});
        EXPECT_EQ(metrics.history().training.size(), 2u);
    }
    EXPECT_EQ(folder.read("metrics.jsonl"),
              "{\"step\":1,\"loss\":3}\n{\"step\":2,\"loss\":2}\n{\"step\":2,\"validation_loss\":0.5}\n"
              "{\"step\":2,\"validation_loss\":0.5,\"validation_accuracy\":0.75}\n");
}

}  // namespace
}  // namespace tessera::training
