#include "tessera/cli/terminal/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "tessera/cli/terminal/terminal.h"
#include "tessera/core/error.h"

namespace tessera::cli {

namespace fs = std::filesystem;

namespace {

int output_error = 0;  // why standard output has failed

// The stream remembers that a write has failed and not why; of a pipe that nobody reads the system still knows.
int reason_of_failure() {
    pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
    if (::poll(&output, 1, 0) > 0 && (output.revents & POLLERR)) return EPIPE;
    return errno != 0 ? errno : EIO;
}

}  // namespace

void check_output() {
    if (output_error == 0 && std::ferror(stdout)) output_error = reason_of_failure();
    check(output_error == 0, "standard output: cannot be written: ", std::strerror(output_error));
}

bool finish_output() {
    if (std::fflush(stdout) != 0 && output_error == 0) output_error = errno;
    if (output_error == 0 && std::ferror(stdout)) output_error = reason_of_failure();
    if (output_error == 0) return true;
    if (output_error != EPIPE)  // who reads has seen enough
        std::fprintf(stderr, "tessera: standard output: cannot be written: %s\n", std::strerror(output_error));
    return false;
}

bool is_output_failure(const std::system_error& error) {
    if (!std::ferror(stdout)) return false;
    if (output_error == 0) output_error = error.code().value();
    finish_output();
    return true;
}

void open_standard_streams() {
    for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(file, F_GETFD) < 0 && errno == EBADF) {
            // The lowest number that is free is this one. Writing to it fails, as it should.
            [[maybe_unused]] const int opened = ::open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
}

void check_output_file(const fs::path& path, const std::string& begins, const std::vector<fs::path>& inputs,
                       const OutputFileOptions& options) {
    const std::string shown = one_line(path.string());
    check(!path.filename().empty(), shown, ": is no name of a file");
    std::error_code error;
    const fs::path folder = path.parent_path();
    check(folder.empty() || fs::is_directory(folder, error), shown, ": there is no folder ", one_line(folder.string()));
    check(!fs::is_directory(path, error), shown, ": is a folder");
    for (const fs::path& input : inputs)
        check(!fs::equivalent(path, input, error), shown, ": is a file that is read; name another one to write");
    if (!fs::exists(path, error)) return;
    check(fs::is_regular_file(path, error), shown, ": is a device, a pipe or a socket, and no place for a file");
    std::string first(begins.size(), '\0');
    std::ifstream file(path, std::ios::binary);
    file.read(first.data(), static_cast<std::streamsize>(first.size()));
    if (fs::file_size(path, error) == 0) return;
    check(file && first == begins, shown, ": holds something else than what would be written; name another file");
    check(options.overwrite, shown, ": is there already; name another file, or say --overwrite to replace it");
}

}  // namespace tessera::cli
