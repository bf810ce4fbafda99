// A command's outputs: standard output, which may be full or closed, and single files, which must not take the place
// of what a person keeps. Whole folders are formats/output_folder.h.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace tessera::cli {

// Throws where standard output has taken no more: what is still to be computed would be for nobody.
void check_output();
// At the program's end: whether all of it has arrived, after one line on standard error where it has not.
bool finish_output();
// Of an error that fmt::print has thrown: says the same line and is true; false: standard output is well.
bool is_output_failure(const std::system_error& error);
// The exit status of a command that such a signal has stopped, as shells count.
constexpr int status_after(int signal) { return 128 + signal; }
// A file that is opened must never become standard output, where it was closed.
void open_standard_streams();

struct OutputFileOptions {
    bool overwrite = true;  // a file of the same kind may be replaced
};

// Throws where this file cannot be written, is one of those that are read, or holds something other than such a file:
// the bytes that it begins with are not `begins`. An empty file is in nobody's way.
void check_output_file(const std::filesystem::path& path, const std::string& begins,
                       const std::vector<std::filesystem::path>& inputs, const OutputFileOptions& options = {});

}  // namespace tessera::cli
