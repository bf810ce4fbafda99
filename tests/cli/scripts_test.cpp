// The scripts a new user meets first: what tools/prepare says while it builds, and what ./run suggests.
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "cli/program.h"
#include "support/temporary_folder.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// tools/prepare in a tree where everything is installed and a build of so many files says what ninja would.
class Prepare : public ::testing::Test {
   protected:
    std::string built(int files, bool fails = false) {
        fs::create_directories(folder_ / "tools");
        fs::copy_file(fs::path(TESSERA_SOURCE_DIR) / "tools/prepare", folder_ / "tools/prepare",
                      fs::copy_options::overwrite_existing);
        folder_.write("build/release/build.ninja", "");
        program("dpkg-query", "echo installed");
        program("cmake", text_of("echo '[0/2] Re-checking globbed directories...'\nfor i in $(seq 1 ", files,
                                 "); do echo \"[$i/", files, "] Building CXX object a$i.o\"; done\n",
                                 fails ? "echo 'a.cpp:1: error: no'; exit 1" : ""));
        const std::string command =
            text_of("PATH=", (folder_ / "bin").string(), ":$PATH ", (folder_ / "tools/prepare").string(),
                    " release 2> ", (folder_ / "err").string());
        status_ = std::system(command.c_str());
        return folder_.read("err");
    }
    void program(const std::string& name, const std::string& script) {
        fs::permissions(folder_.write("bin/" + name, "#!/bin/sh\n" + script + "\n"), fs::perms::owner_all);
    }
    testing::TemporaryFolder folder_;
    int status_ = -1;
};

TEST_F(Prepare, TellsHowFarALongBuildIs) {
    const std::string said = built(200);
    EXPECT_EQ(status_, 0);
    EXPECT_TRUE(said.starts_with("tessera: building (release")) << said;
    for (const char* line : {"building 20 of 200 · 10 %", "building 100 of 200 · 50 %", "building 200 of 200 · 100 %"})
        EXPECT_NE(said.find(line), said.npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 11) << said;  // a line for each tenth: logs stay short
}

TEST_F(Prepare, SaysLittleOfAShortBuildAndNothingOfNone) {
    const std::string said = built(3);
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_EQ(built(0), "");
}

TEST_F(Prepare, ShowsTheErrorOfABuildThatFails) {
    const std::string said = built(60, true);
    EXPECT_NE(status_, 0);
    EXPECT_TRUE(said.ends_with("a.cpp:1: error: no\n")) << said;
}

// Every command that ./run ends with, in a folder that has what a clean clone has: no fetched data, no runs.
TEST(Run, SuggestsOnlyWhatWorks) {
    const testing::TemporaryFolder clone;
    for (const char* name : {"models", "recipes", "configs", "docs"})
        fs::create_directory_symlink(fs::path(TESSERA_SOURCE_DIR) / name, clone / name);
    clone.write("run", text_of("#!/bin/sh\nexec '", TESSERA_PROGRAM, "' \"$@\"\n"));
    fs::permissions(clone / "run", fs::perms::owner_all);
    std::ifstream script(fs::path(TESSERA_SOURCE_DIR) / "run");
    int suggested = 0;
    for (std::string line; std::getline(script, line);) {
        if (!line.starts_with("  ./run ")) continue;
        ++suggested;
        const std::string command = text_of("cd '", clone.path().string(), "' && ", line, " > out 2> err");
        EXPECT_EQ(std::system(command.c_str()), 0) << line << "\n" << clone.read("err");
    }
    EXPECT_GE(suggested, 3);
}

}  // namespace
}  // namespace tessera
