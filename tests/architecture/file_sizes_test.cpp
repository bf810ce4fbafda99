// How long a file may be (CONTRIBUTING.md): about 100 lines is usual, past 300 one asks why.
#include <gtest/gtest.h>

#include <map>

#include "architecture/sources.h"

namespace tessera::architecture {
namespace {

constexpr std::size_t most_lines = 350, most_lines_of_a_command = 260;

// Longer for a reason, and not without end.
const std::map<std::string, std::size_t> longer_files = {
    {"models/adapters/adapter_folder.cpp", 400},  // the one reader and writer of PEFT's layout
    {"training/run/run_folder.cpp", 400},         // the one reader and writer of a run's files
};

TEST(FileSizes, NoFileIsTooLongToBeReadAtOnce) {
    for (const std::filesystem::path& path : sources()) {
        const std::string file = relative_name(path);
        const auto longer = longer_files.find(file);
        const bool is_command = file.starts_with("cli/commands/");
        const std::size_t most = longer != longer_files.end() ? longer->second
                                 : is_command                 ? most_lines_of_a_command
                                                              : most_lines;
        EXPECT_LE(lines_of(path).size(), most) << file;
    }
}

TEST(FileSizes, ExceptionsAreFiles) {
    for (const auto& [file, most] : longer_files)
        EXPECT_TRUE(std::filesystem::is_regular_file(source_root / file)) << file;
}

}  // namespace
}  // namespace tessera::architecture
