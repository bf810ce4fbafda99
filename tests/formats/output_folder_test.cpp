// A folder that appears whole or not at all, and what people keep in it.
#include "tessera/formats/output_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "tessera/formats/atomic_file.h"

namespace tessera::formats {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::TemporaryFolder;

std::vector<std::string> below(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        names.push_back(entry.path().lexically_relative(folder));
    std::sort(names.begin(), names.end());
    return names;
}

void write_model(const fs::path& folder, const std::string& text, const OutputOptions& options = {}) {
    OutputFolder out(folder, options);
    write_file(out.path() / "config.json", text);
    write_file(out.path() / "model.safetensors", text);
    out.commit();
}

TEST(OutputFolder, StandsOnlyOnceCommitted) {
    const TemporaryFolder folder;
    {
        OutputFolder out(folder / "a/b");
        write_file(out.path() / "config.json", "new");
        EXPECT_FALSE(fs::exists(folder / "a/b"));
        out.commit();
    }
    EXPECT_EQ(below(folder.path()), (std::vector<std::string>{"a", "a/b", "a/b/config.json"}));
}

TEST(OutputFolder, WithoutCommitAllIsAsItWas) {
    const TemporaryFolder folder;
    { write_file(OutputFolder(folder / "a/b/c").path() / "config.json", "half"); }
    EXPECT_TRUE(fs::is_empty(folder.path()));
    folder.write("out/config.json", "old");
    folder.write("out/notes/mine.txt", "mine");
    const std::vector<std::string> before = below(folder.path());
    { write_file(OutputFolder(folder / "out", {.overwrite = true}).path() / "config.json", "half"); }
    EXPECT_EQ(below(folder.path()), before);
    EXPECT_EQ(folder.read("out/config.json"), "old");
}

TEST(OutputFolder, WhatIsThereIsReplacedOnlyWhenAsked) {
    const TemporaryFolder folder;
    write_model(folder / "out", "old");
    expect_error([&] { write_model(folder / "out", "new"); }, {"out", "not empty", "config.json"});
    EXPECT_THROW(write_model(folder / "out", "new"), FolderNotEmpty);
    write_model(folder / "out", "new", {.overwrite = true});
    EXPECT_EQ(folder.read("out/model.safetensors"), "new");
    EXPECT_EQ(below(folder.path()), (std::vector<std::string>{"out", "out/config.json", "out/model.safetensors"}));
    folder.write("mine/notes.txt", "mine");
    expect_error([&] { write_model(folder / "mine", "new"); }, {"mine", "not empty", "notes.txt"});
}

// A training's lock, as training takes it.
class RunLock {
   public:
    explicit RunLock(const fs::path& folder)
        : file_(::open((folder / run_lock_name).c_str(), O_RDWR | O_CREAT, 0666)),
          taken_(::flock(file_, LOCK_EX | LOCK_NB) == 0) {}
    ~RunLock() { ::close(file_); }
    bool taken() const { return taken_; }

   private:
    int file_;
    bool taken_;
};

TEST(OutputFolder, NoTrainingBeginsInAFolderThatIsReplaced) {
    const TemporaryFolder folder;
    write_model(folder / "run", "old");
    folder.write(std::string("run/") + run_lock_name, "");
    OutputFolder out(folder / "run", {.overwrite = true});
    EXPECT_FALSE(RunLock(folder / "run").taken());
    write_file(out.path() / "config.json", "new");
    out.commit();
    EXPECT_EQ(folder.read("run/config.json"), "new");
}

TEST(OutputFolder, ATrainingThatHasBegunMeanwhileIsNotReplaced) {
    const TemporaryFolder folder;
    write_model(folder / "run", "old");
    {
        OutputFolder out(folder / "run", {.overwrite = true});
        write_file(out.path() / "config.json", "new");
        const RunLock training(folder / "run");
        EXPECT_TRUE(training.taken());
        expect_error([&] { out.commit(); }, {"run", "a training has begun"});
    }
    EXPECT_EQ(folder.read("run/config.json"), "old");
    write_model(folder / "run", "new", {.overwrite = true});
    EXPECT_EQ(folder.read("run/config.json"), "new");
}

TEST(OutputFolder, OtherFilesStayAndOldOnesGo) {
    const TemporaryFolder folder;
    folder.write("secret", "secret");
    for (const char* name : {"config.json", "model-00001-of-00002.safetensors", "model.safetensors.index.json",
                             "adapter_config.json", "tokenizer.model"})
        folder.write(std::string("out/") + name, "old");
    folder.write("out/README.md", "mine");
    folder.write("out/notes/config.json", "mine");
    folder.write("out/.my.tmp", "mine");
    fs::create_directories(folder / "out/empty");
    fs::create_symlink("../secret", folder / "out/tokenizer.json");
    fs::create_symlink("../secret", folder / "out/link");
    {
        OutputFolder out(folder / "out", {.overwrite = true});
        for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"})
            write_file(out.path() / name, "new");
        out.commit();
    }
    EXPECT_EQ(below(folder / "out"),
              (std::vector<std::string>{".my.tmp", "README.md", "config.json", "empty", "link", "model.safetensors",
                                        "notes", "notes/config.json", "tokenizer.json"}));
    EXPECT_EQ(folder.read("secret"), "secret");
    EXPECT_EQ(folder.read("out/tokenizer.json"), "new");
    EXPECT_FALSE(fs::is_symlink(folder / "out/tokenizer.json"));
    EXPECT_TRUE(fs::is_symlink(folder / "out/link"));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 2);
}

TEST(OutputFolder, AnEmptyFolderIsFilledWhereItIs) {
    const TemporaryFolder folder;
    fs::create_directories(folder / "out");
    const int before = ::open((folder / "out").c_str(), O_RDONLY | O_DIRECTORY);
    write_model(folder / "out", "new");
    EXPECT_EQ(::faccessat(before, "config.json", R_OK, 0), 0);  // who stands in it sees the files
    ::close(before);
    EXPECT_EQ(below(folder.path()), (std::vector<std::string>{"out", "out/config.json", "out/model.safetensors"}));
}

TEST(OutputFolder, ThroughALinkTheFolderItLeadsToIsWritten) {
    const TemporaryFolder folder;
    write_model(folder / "real", "old");
    fs::create_directory_symlink("real", folder / "link");
    write_model(folder / "link/", "new", {.overwrite = true});
    EXPECT_TRUE(fs::is_symlink(folder / "link"));
    EXPECT_EQ(folder.read("real/config.json"), "new");
    fs::create_directory_symlink("nowhere", folder / "dangling");
    expect_error([&] { write_model(folder / "dangling", "new"); }, {"dangling", "link"});
}

TEST(OutputFolder, InputsAreNeverOverwritten) {
    const TemporaryFolder folder;
    write_model(folder / "models/m", "old");
    fs::create_directory_symlink("models/m", folder / "link");
    folder.write("other/config.json", "");
    fs::create_symlink("../models/m/model.safetensors", folder / "other/model.safetensors");
    const auto refused = [&](const fs::path& out, const fs::path& input) {
        expect_error([&] { write_model(out, "new", {.overwrite = true, .inputs = {input}}); }, {out.string(), "read"});
    };
    for (const char* out :
         {"models/m", "models/m/", "models/../models/./m", "link", "link/", "models", "models/m/x/.."})
        for (const char* input : {"models/m", "link", "models/m/"}) refused(folder / out, folder / input);
    refused(folder / "models/m", folder / "link/config.json");
    refused(folder / "models/m", folder / "other");  // by a link to a file
    EXPECT_EQ(folder.read("models/m/model.safetensors"), "old");
    write_model(folder / "models/m/inner", "new", {.inputs = {folder / "models/m"}});
    folder.write("models/m/model.gguf", "stays");
    write_model(folder / "models/m", "new", {.overwrite = true, .inputs = {folder / "models/m/model.gguf"}});
    EXPECT_EQ(folder.read("models/m/model.gguf"), "stays");
}

TEST(OutputFolder, WhatCannotBeAFolderIsRefused) {
    const TemporaryFolder folder;
    folder.write("file", "mine");
    expect_error([&] { write_model(folder / "file", "new", {.overwrite = true}); }, {"file", "is a file"});
    expect_error([&] { write_model(folder / "file/below", "new"); }, {"file/below"});
    expect_error([&] { write_model("", "new"); }, {"empty"});
    expect_error([&] { write_model("/", "new", {.overwrite = true}); }, {"/"});
    EXPECT_EQ(folder.read("file"), "mine");
}

// Killed while it works: the next one clears away what it has left, and nothing that a living one is writing.
TEST(OutputFolder, WhatAKilledProgramLeftGoes) {
    const TemporaryFolder folder;
    write_model(folder / "out", "old");
    folder.write("out/notes.txt", "mine");
    folder.write(".out.tessera-notours1/notes.txt", "mine");
    const pid_t child = fork();
    if (child == 0) {
        OutputFolder out(folder / "out", {.overwrite = true});
        write_file(out.path() / "config.json", "half");
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 3);
    OutputFolder alive(folder / "out", {.overwrite = true});
    write_file(alive.path() / "config.json", "alive");
    write_model(folder / "out", "new", {.overwrite = true});
    EXPECT_EQ(folder.read("out/config.json"), "new");
    EXPECT_EQ(folder.read(".out.tessera-notours1/notes.txt"), "mine");
    EXPECT_TRUE(fs::exists(alive.path() / "config.json"));
    alive.commit();
    EXPECT_EQ(folder.read("out/config.json"), "alive");
    EXPECT_EQ(folder.read("out/notes.txt"), "mine");
    EXPECT_EQ(below(folder.path()),
              (std::vector<std::string>{".out.tessera-notours1", ".out.tessera-notours1/notes.txt", "out",
                                        "out/config.json", "out/notes.txt"}));
}

TEST(OutputFolder, AFolderInWhichATrainingIsAtWorkIsRefused) {
    const TemporaryFolder folder;
    const std::string lock = folder.write(std::string("out/") + run_lock_name, "");
    const int file = ::open(lock.c_str(), O_RDWR);
    ASSERT_EQ(::flock(file, LOCK_EX | LOCK_NB), 0);
    expect_error([&] { write_model(folder / "out", "new", {.overwrite = true}); }, {"out", "training"});
    ::close(file);
    write_model(folder / "out", "new", {.overwrite = true});
}

TEST(AtomicFileNames, StaleOnesGoAndOthersStay) {
    const TemporaryFolder folder;
    for (const char* name :
         {".a.0123abcd.tessera-part", ".my.tmp", ".a.12.1.tmp", ".a.tessera-part", "a.0123abcd.tessera-part"})
        folder.write(name, "x");
    AtomicFile alive(folder / "b");
    remove_stale_temporaries(folder.path());
    alive.write("b");
    alive.commit();
    EXPECT_EQ(below(folder.path()),
              (std::vector<std::string>{".a.12.1.tmp", ".a.tessera-part", ".my.tmp", "a.0123abcd.tessera-part", "b"}));
}

TEST(AtomicFileNames, DevicesAreNoPlaceForFiles) {
    expect_error([] { write_file("/dev/null", "x"); }, {"/dev/null", "no place"});
    expect_error([] { write_file("/dev/stdout", "x"); }, {"/dev/stdout", "no place"});
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace tessera::formats
