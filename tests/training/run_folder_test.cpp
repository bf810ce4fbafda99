// The folder of a run: refused at the start where it cannot hold the run, and never half a checkpoint.
#include "training/run_folder.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "training/metrics.h"

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
    folder.write("cache/.tokens.12.3.tmp", "half");
    const RunFolder run(folder.path());
    EXPECT_FALSE(std::filesystem::exists(folder / "checkpoints/unfinished-step-00000004"));
    EXPECT_FALSE(std::filesystem::exists(folder / "cache/.tokens.12.3.tmp"));
    EXPECT_EQ(run.newest_checkpoint(), folder / "checkpoints/step-00000003");
}

TEST(RunFolder, KeepsTheNewestAndTheBest) {
    const TemporaryFolder folder;
    for (const auto& [step, loss] : {std::pair(1, 5.0), {2, 2.0}, {3, 4.0}, {4, 3.0}, {5, 3.5}})
        pretend_checkpoint(folder, step, loss);
    RunFolder(folder.path()).prune(2);
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
        metrics.add_validation(2, {.loss = 0.5, .targets = 4, .answers = {.all = 4, .right = 3}});
        EXPECT_EQ(metrics.losses().size(), 2u);
    }
    EXPECT_EQ(folder.read("metrics.jsonl"),
              "{\"step\":1,\"loss\":3}\n{\"step\":2,\"loss\":2}\n{\"step\":2,\"validation_loss\":0.5}\n"
              "{\"step\":2,\"validation_loss\":0.5,\"validation_accuracy\":0.75}\n");
}

}  // namespace
}  // namespace tessera::training
